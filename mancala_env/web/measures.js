/** Lengths and times of pictures and animations. Written by python -m tools.make_page_files. */
export const measures = {
 "cell": 92.0,
 "hole": 38.0,
 "seed": 7.0,
 "tray": 96.0,
 "margin": 14.0,
 "space": 10.0,
 "header": 46.0,
 "footer": 46.0,
 "gap": 64.0,
 "label": 24.0,
 "number": 35.0,
 "strip": 7.0,
 "title": 22.0,
 "count": 28.0,
 "line": 22.0,
 "word": 19.0,
 "trayColumns": 5,
 "trayPitch": 15.0,
 "letter": 0.56,
 "maxSeedsDrawn": 12,
 "places": [
  [
   0.0,
   11.0
  ],
  [
   -11.0,
   0.0
  ],
  [
   0.0,
   -11.0
  ],
  [
   11.0,
   0.0
  ],
  [
   19.092,
   19.092
  ],
  [
   -27.0,
   0.0
  ],
  [
   19.092,
   -19.092
  ],
  [
   0.0,
   27.0
  ],
  [
   -19.092,
   -19.092
  ],
  [
   27.0,
   0.0
  ],
  [
   -19.092,
   19.092
  ],
  [
   0.0,
   -27.0
  ]
 ],
 "eventKinds": [
  "lift",
  "drop",
  "relay",
  "capture",
  "ransom",
  "store",
  "own",
  "put_back",
  "pass",
  "next",
  "end"
 ],
 "seedSeconds": 0.18,
 "seedsLong": {
  "lift": 1.5,
  "drop": 1.0,
  "relay": 1.0,
  "capture": 2.5,
  "ransom": 2.5,
  "store": 3.0,
  "own": 3.5,
  "put_back": 5.0,
  "skip": 4.0,
  "pass": 4.0,
  "next": 0.0,
  "end": 0.0
 },
 "maxLapsShown": 24
};
