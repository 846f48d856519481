/* Checks a proof file of the format mancala-proof-1 (docs/reference/proofs.md), with C99 and its standard library only.
 *     cc -std=c99 -O2 -o check check.c && ./check leyla.proof
 * Prints VALID and what is proved (exit status 0), or INVALID and the reason (1). The status is 2 if the file or memory is
 * missing. Numbers of sections are those of docs/reference/rules.md. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UUR, PAIR, WEG };                            /* what a landing does: the columns of section 3's table */
enum { MOVER_STUCK, EITHER_STUCK, BOTH_STUCK };
enum { FREE_OPENING, RIGHTMOST, EIGHTS };
enum { SOUTH, NORTH, NOBODY };
enum { FAILS = -1, UNKNOWN, HOLDS };                /* the prover's claim, for a position */
enum { MAX_HOLES = 24, MAX_LAPS = 1000, STALL = 50, LEAST_CACHE = 1 << 18, MOST_CACHE = 1 << 23, NONE = 1000 };

static int W, H, start_seeds, clockwise, landing, last_stays, four_anywhere, empty_stays, round_end, opening;
static int seeds[MAX_HOLES], owner[MAX_HOLES], stores[2], mover, stall, is_set, total; /* the position of the file */
static int P, need, cap, leaf;                      /* the prover and the claim */

typedef struct {
    uint8_t seeds[MAX_HOLES];                       /* of an owned hole: its level */
    uint32_t owned[2];                              /* the holes of South and of North, a bit each */
    uint8_t mover, stall, is_over;
    int got;
} Position;
enum { KEY = offsetof(Position, is_over) };         /* the bytes that the table compares */
#define EACH(hole, holes) for (int hole = 0; hole < H; hole++) if (has(holes, hole))

static void stop(int status, const char *reason, const char *where) {
    printf("%s: %s %.40s\n", status == 1 ? "INVALID" : "NOT CHECKED", reason, where);
    exit(status);
}

/* ---- the rules ---- */
static int side(int hole) { return hole >= W; }
static int has(uint32_t holes, int hole) { return holes >> hole & 1; }
static int is_free(const Position *p, int hole) { return !has(p->owned[SOUTH] | p->owned[NORTH], hole); }
static int free_in_row(const Position *p, int player) {
    int sum = 0;
    for (int h = W * player; h < W * (player + 1); h++) if (is_free(p, h)) sum += p->seeds[h];
    return sum;
}
static int free_seeds(const Position *p) { return free_in_row(p, SOUTH) + free_in_row(p, NORTH); }

static uint32_t legal(const Position *p, int player) {  /* the holes that a player may sow from, a bit each */
    uint32_t holes = 0;
    int full = 0;
    for (int h = W * player; h < W * (player + 1); h++) if (is_free(p, h) && p->seeds[h]) holes |= 1u << h;
    if (opening != RIGHTMOST || player != SOUTH || p->owned[SOUTH] || p->owned[NORTH]) return holes;
    while (full < H && p->seeds[full] == start_seeds) full++;
    return full < H ? holes : 1u << (clockwise ? 0 : W - 1); /* section 7 */
}

static void drop(Position *p, int hole) {  /* a seed falls */
    if (has(p->owned[P], hole)) p->got++;
    if (is_free(p, hole) || p->seeds[hole] < cap) p->seeds[hole]++;
}
static void own(Position *p, int hole) {  /* a hole becomes the mover's */
    if (p->mover == P) p->got += p->seeds[hole];
    if (p->seeds[hole] > cap) p->seeds[hole] = (uint8_t)cap;
    p->owned[p->mover] |= 1u << hole;
}
static void ransom(Position *p, int hole) {  /* the last seed is still in the hand */
    int level = p->seeds[hole];
    if (p->mover == P) {                            /* the hole has `level` seeds or more */
        if (level) p->got += 2, p->seeds[hole]--;
        else if (!empty_stays) p->got++;
        else if (cap >= total) drop(p, hole);
    } else if (level == cap) p->got--;              /* it may have any number */
    else if (level) p->got--, p->seeds[hole]--;
    else if (empty_stays) drop(p, hole);
}

static int lap_relays(Position *p, int *hole) {  /* section 3: sows a lap; `hole` becomes its last hole */
    int j = *hole, hand = p->seeds[j], across, before;
    for (p->seeds[j] = 0; hand > 1; hand--) drop(p, j = (j + 1) % H);
    *hole = j = (j + 1) % H;                        /* the last seed is still in the hand */
    across = H - 1 - j;
    if (!is_free(p, j)) return landing == UUR || has(p->owned[p->mover], j) ? drop(p, j) : ransom(p, j), 0;
    before = p->seeds[j]++;
    if (before == 3 && landing != UUR && (side(j) != p->mover || four_anywhere)) {
        if (landing == PAIR) own(p, across);
        return own(p, j), 0;
    }
    if (before > 0 || landing != UUR || side(j) != p->mover || p->seeds[across] == 0) return before > 0;
    if (p->seeds[across] == 3) {
        p->seeds[across] = p->seeds[j] = 2;
        return own(p, j), own(p, across), 0;
    }
    if (p->mover == P) p->got += p->seeds[across] + !last_stays;
    p->seeds[across] = 0;
    if (!last_stays) p->seeds[j] = 0;
    return 0;
}

static void hand_over(Position *p) {  /* section 4: stuck, stall, pass */
    int stuck[2] = {!legal(p, SOUTH), !legal(p, NORTH)}, next = !p->mover, both = stuck[0] && stuck[1];
    int ends = round_end == MOVER_STUCK ? stuck[next] : round_end == EITHER_STUCK ? stuck[0] || stuck[1] : both;
    if (ends || p->stall == STALL) p->is_over = 1;
    if (round_end != BOTH_STUCK || !stuck[next]) p->mover = (uint8_t)next;
}
static Position after(const Position *p, int hole) {  /* section 3: a whole turn */
    Position q = *p;
    for (int laps = 1; lap_relays(&q, &hole); laps++)
        if (laps == MAX_LAPS) { q = *p; q.is_over = 1; return q; }
    q.stall = free_seeds(p) == free_seeds(&q) ? (uint8_t)(p->stall + 1) : 0;
    hand_over(&q);
    return q;
}

static Position first_position(void) {  /* of the walk, for this prover and cap */
    Position p = {{0}, {0, 0}, 0, 0, 0, stores[P]};
    EACH(h, ~0u) p.seeds[h] = (uint8_t)seeds[h];
    EACH(h, ~0u) if (owner[h] != NOBODY) p.mover = (uint8_t)owner[h], own(&p, h);
    p.mover = (uint8_t)mover, p.stall = (uint8_t)stall;
    if (is_set || opening != EIGHTS) return p;
    for (int i = 0; i < W; i++) {                   /* section 6, Gabata 3: South opens */
        int from = (W - 1 + 2 * i) % H, to = (W + 2 * i) % H;
        p.seeds[to] = (uint8_t)(p.seeds[to] + p.seeds[from]);
        p.seeds[from] = 0;
        if (i == 0) own(&p, to);
    }
    p = after(&p, W - 2);
    p.stall = 0;
    return p;
}

/* ---- what is known ---- */
typedef struct { Position p; int16_t holds, fails; int is_used; } Entry; /* the prover gets `holds` more than got, not `fails` */
static Entry *table, *cache;                        /* of the walk; of the search of small positions, which may forget */
static size_t room, num_used, cache_room;

static size_t hash(const Position *p) {
    uint64_t x = 0x9E3779B97F4A7C15u, words[(KEY + 7) / 8] = {0};
    memcpy(words, p, KEY);
    for (int i = 0; i < (KEY + 7) / 8; i++) x = (x ^ words[i]) * 0xD6E8FEB86659FD93u, x ^= x >> 32;
    return (size_t)x;
}
static Entry *find(const Position *p, int is_small) {  /* the entry of a position, or the place for it */
    size_t i = hash(p);
    if (is_small) return &cache[i & (cache_room - 1)];
    for (i %= room; table[i].is_used && memcmp(&table[i].p, p, KEY); i = (i + 1) % room) { }
    return &table[i];
}
static void keep(Entry *e, const Position *p, int result) {
    if (!e->is_used || memcmp(&e->p, p, KEY)) *e = (Entry){*p, -NONE, NONE, 1};
    if (result == HOLDS) e->holds = (int16_t)(need - p->got);
    else e->fails = (int16_t)(need - p->got);
}
static int look_up(const Position *p) {
    int n = need - p->got, left = free_seeds(p), ransoms = landing != UUR;
    if (p->is_over) return free_in_row(p, P) >= n ? HOLDS : FAILS;
    if (n <= (ransoms && p->owned[P] ? -left : 0)) return HOLDS;
    if (n > (ransoms && p->owned[!P] ? 2 * left : left)) return FAILS; /* a ransom takes a free seed and one more */
    const Entry *e = find(p, left <= leaf);
    if (!e->is_used || memcmp(&e->p, p, KEY)) return UNKNOWN;
    return n <= e->holds ? HOLDS : n >= e->fails ? FAILS : UNKNOWN;
}
static int known(const Position *p) {  /* small positions are searched: all turns */
    int result = look_up(p), wanted = p->mover == P ? HOLDS : FAILS, now[MAX_HOLES];
    if (result != UNKNOWN || free_seeds(p) > leaf) return result;
    uint32_t turns = legal(p, p->mover), unknown = turns;
    EACH(h, turns) {                                /* what is known at once comes first */
        Position q = after(p, h);
        now[h] = wanted * (q.got + free_in_row(&q, P));
        if ((result = look_up(&q)) == wanted) break;
        if (result != UNKNOWN) unknown &= ~(1u << h);
    }
    for (int best = -1; unknown && result != wanted; unknown &= ~(1u << best), best = -1) {
        EACH(h, unknown) if (best < 0 || now[h] > now[best]) best = h; /* then what looks best for the mover */
        Position q = after(p, best);
        result = known(&q);
    }
    keep(find(p, 1), p, result = result == wanted ? wanted : -wanted);
    return result;
}

/* ---- the walk ---- */
static const char *at;                              /* where the reader of the file is */

static void prove(const Position *p) {
    uint32_t turns = legal(p, p->mover);
    int num_turns = 0, chosen = -1;
    EACH(h, turns) {
        Position q = after(p, h);
        int result = chosen < 0 ? known(&q) : HOLDS;
        if (p->mover == P && result == HOLDS && chosen < 0) chosen = h;
        if (p->mover != P && result == FAILS) stop(1, "a reply refutes the claim; letters left:", at);
        if (p->mover != P && result == UNKNOWN) prove(&q);
        num_turns++;
    }
    if (p->mover == P && chosen < 0) {
        int letter = num_turns == 1 ? 0 : *at >= 'a' && *at <= 'z' ? *at++ - 'a' : num_turns;
        if (letter >= num_turns) stop(1, "no letter, or no such turn, at:", at);
        EACH(h, turns) if (letter-- == 0) chosen = h;
        Position q = after(p, chosen);
        if (known(&q) == FAILS) stop(1, "a named turn fails; letters left:", at);
        prove(&q);
    }
    if (++num_used > room / 4 * 3) {                /* at least the number of entries */
        Entry *old = table;
        if (!(table = calloc(room *= 2, sizeof *table))) stop(2, "out of", "memory");
        for (size_t i = 0; i < room / 2; i++) if (old[i].is_used) *find(&old[i].p, 0) = old[i];
        free(old);
    }
    keep(find(p, 0), p, HOLDS);
}

/* ---- the file ---- */
static void expect(const char *text) {
    if (strncmp(at, text, strlen(text))) stop(1, "this is wrong or in the wrong place:", at);
    at += strlen(text);
}
static int number(const char *before, int least, int most) {
    expect(before);
    const char *first = at;
    long long n = 0;
    while (*at >= '0' && *at <= '9' && at < first + 10) n = n * 10 + (*at++ - '0');
    if (at == first || (*first == '0' && at > first + 1) || n < least || n > most) stop(1, "not such a number:", first);
    return (int)n;
}
static int choice(const char *before, const char *a, const char *b, const char *c) {
    expect(before);
    if (!strncmp(at, a, strlen(a))) return expect(a), 0;
    if (!strncmp(at, b, strlen(b))) return expect(b), 1;
    return expect(c), 2;
}

static void read_position(void) {
    is_set = choice("position ", "start\n", "set\n", "set\n");
    total = H * start_seeds;
    for (int h = 0; h < H; h++) seeds[h] = start_seeds, owner[h] = NOBODY;
    if (!is_set) return;
    expect("seeds");
    for (int h = total = 0; h < H; h++) total += seeds[h] = number(" ", 0, 255);
    expect("\nowners ");
    for (int h = 0; h < H; h++) owner[h] = choice("", "S", "N", "-");
    total += stores[SOUTH] = number("\nstores ", 0, 255);
    total += stores[NORTH] = number(" ", 0, 255);
    mover = choice("\nmover ", "south\n", "north\n", "north\n");
    stall = number("stall ", 0, STALL - 1);
    expect("\n");
    for (int h = 0; h < H; h++) if (landing != WEG && owner[h] != owner[H - 1 - h]) stop(1, "owned holes", "not in pairs");
    Position p = first_position();
    p.mover = !mover;
    hand_over(&p);
    if (total > H * start_seeds || p.is_over || p.mover != mover) stop(1, "the set position", "is not possible or over");
}

int main(int argc, char **argv) {
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    char *file = size < 0 || fseek(f, 0, SEEK_SET) ? NULL : calloc((size_t)size + 1, 1);
    if (!file || fread(file, 1, (size_t)size, f) != (size_t)size) stop(2, "usage: check FILE", "(a file that can be read)");
    const char *name = (at = file, expect("mancala-proof-1\nruleset "), at);
    while (*at > ' ' && *at <= '~' && at < name + 64) at++;
    if (at == name) stop(1, "no name at:", at);
    H = 2 * (W = number("\nrow_width ", 2, MAX_HOLES / 2));
    start_seeds = number("\nseeds_per_hole ", 1, 255 / H);
    clockwise = choice("\ndirection ", "anticlockwise\n", "clockwise\n", "clockwise\n");
    landing = choice("landing ", "uur\n", "pair\n", "weg\n");
    last_stays = choice("captures_last ", "true\n", "false\n", "false\n");
    four_anywhere = choice("owns_on ", "opponent\n", "either\n", "either\n");
    empty_stays = choice("ransoms_empty ", "true\n", "false\n", "false\n");
    round_end = choice("round_end ", "mover_stuck\n", "either_stuck\n", "both_stuck\n");
    opening = choice("opening ", "free\n", "rightmost\n", "eights\n");
    if ((last_stays && landing != UUR) || (four_anywhere && landing != WEG) || (empty_stays && landing == UUR)
        || (opening == EIGHTS && (landing != WEG || clockwise || round_end != BOTH_STUCK))) stop(1, "no such", "combination");
    read_position();
    int claims[2][4], has_claim[2] = {0, 0}, proved[2] = {0, 0};
    const char *rules_end = at, *letters;
    do {
        P = choice("claim ", "south ", "north ", "north ");
        if (has_claim[P]++ || (P == SOUTH && has_claim[NORTH])) stop(1, "the claims", "are not south's, then north's");
        claims[P][0] = number("", 0, total), claims[P][1] = number(" cap ", 0, landing == UUR ? 0 : 255);
        claims[P][2] = number(" leaf ", 0, 255), claims[P][3] = number(" letters ", 0, 2000000000);
        expect("\n");
    } while (*at != '\n');
    for (at++, P = SOUTH; P <= NORTH; P++) {
        if (!has_claim[P]) continue;
        letters = at, need = claims[P][0], cap = claims[P][1], leaf = claims[P][2], room = 1 << 16, num_used = 0;
        free(table), free(cache), cache_room = LEAST_CACHE;
        while (cache_room < MOST_CACHE && cache_room < 32 * (size_t)claims[P][3]) cache_room *= 2;
        table = calloc(room, sizeof *table), cache = calloc(cache_room, sizeof *cache);
        if (!table || !cache) stop(2, "out of", "memory");
        Position first = first_position();
        int result = known(&first);
        if (result == FAILS) stop(1, "the claim fails:", P ? "north" : "south");
        if (result == UNKNOWN) prove(&first);
        if (at - letters != claims[P][3]) stop(1, "the number of letters is not that of the claim, at:", at);
        expect("\n"), proved[P] = need;
    }
    if (at != file + size) stop(1, "more follows:", at);
    printf("VALID south at least %d, north at least %d of %d seeds: %s\n%.*s", proved[SOUTH], proved[NORTH], total,
           proved[SOUTH] + proved[NORTH] == total ? "exact" : "bounds", (int)(rules_end - file), file);
    return 0;
}
