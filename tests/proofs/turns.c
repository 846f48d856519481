/* Plays single turns with the rules of proofs/check.c. Reads numbers: the nine options from row_width to opening (a word's
 * place in docs/reference/proofs.md), seeds of the game, prover, cap, mover, stall, got, H seeds, H owners (2: free), hole.
 * Prints whether the round is over, the mover, the stall counter, got, H seeds, H owners and the legal holes. */
#define main check_main
#include "check.c"
#undef main

int main(void) {
    int *options[] = {&W, &start_seeds, &clockwise, &landing, &last_stays, &four_anywhere, &empty_stays, &round_end, &opening};
    int next, got, hole;
    while (scanf("%d", options[0]) == 1) {
        for (int i = 1; i < 9; i++) if (scanf("%d", options[i]) != 1) return 1;
        Position p = {{0}, {0, 0}, 0, 0, 0, 0};
        int numbers[5];
        for (int i = 0; i < 5; i++) if (scanf("%d", &numbers[i]) != 1) return 1;
        total = numbers[0], P = numbers[1], cap = numbers[2], p.mover = (uint8_t)numbers[3], p.stall = (uint8_t)numbers[4];
        if (scanf("%d", &got) != 1) return 1;
        p.got = got, H = 2 * W;
        EACH(h, ~0u) if (scanf("%d", &next) == 1) p.seeds[h] = (uint8_t)next;
        EACH(h, ~0u) if (scanf("%d", &next) == 1 && next != NOBODY) p.owned[next] |= 1u << h;
        if (scanf("%d", &hole) != 1) return 1;
        Position q = after(&p, hole);
        printf("%d %d %d %d", q.is_over, q.mover, q.stall, q.got);
        EACH(h, ~0u) printf(" %d", q.seeds[h]);
        EACH(h, ~0u) printf(" %d", has(q.owned[SOUTH], h) ? SOUTH : has(q.owned[NORTH], h) ? NORTH : NOBODY);
        uint32_t holes = q.is_over ? 0 : legal(&q, q.mover);
        EACH(h, holes) printf(" %d", h);
        putchar('\n');
    }
    return 0;
}
