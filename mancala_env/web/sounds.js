/** A soft sound for every seed that falls. It is off until the user switches it on in Settings. */

const PITCH = { drop: 190, relay: 190, lift: 130, store: 260, own: 320 }; // hertz, by the kind of event
const LOUDNESS = 0.08, LENGTH = 0.09; // of 1, and seconds

let isOn = false;
let audio = null;

/** Switch sounds on or off. */
export function useSounds(isWanted) {
  isOn = isWanted;
}

/** Sound an event of a turn. Browsers are silent until the user has pressed something. @param {string} kind */
export function sound(kind) {
  if (!isOn || !(kind in PITCH) || !globalThis.AudioContext || !navigator.userActivation?.hasBeenActive) return;
  audio ??= new AudioContext();
  const tone = audio.createOscillator(), volume = audio.createGain(), now = audio.currentTime;
  tone.type = "triangle";
  tone.frequency.setValueAtTime(PITCH[kind], now);
  tone.frequency.exponentialRampToValueAtTime(PITCH[kind] / 2, now + LENGTH);
  volume.gain.setValueAtTime(LOUDNESS, now);
  volume.gain.exponentialRampToValueAtTime(0.001, now + LENGTH);
  tone.connect(volume).connect(audio.destination);
  tone.start(now);
  tone.stop(now + LENGTH);
}
