/** The words of the page, one file a language: texts/en.json has them all, another what has been translated. */

export const LANGUAGES = { en: "English", so: "Soomaali", am: "አማርኛ" };

let english = {};
let chosen = {};

/** Take over texts: all in English, and what there is in another language. */
export function useTexts(inEnglish, inOther = {}) {
  english = inEnglish;
  chosen = inOther;
}

/** Load English and every other language; returns the languages that somebody has translated. */
export async function loadTexts(wanted) {
  const files = await Promise.all(
    Object.keys(LANGUAGES).map(async (language) => [language, await (await fetch(new URL(`texts/${language}.json`, import.meta.url))).json()]),
  );
  const texts = Object.fromEntries(files);
  const languages = Object.keys(texts).filter((language) => Object.values(texts[language]).some((text) => text));
  const language = languages.includes(wanted) ? wanted : "en";
  useTexts(texts.en, texts[language]);
  return { language, languages };
}

/** The text of a key with its {names} filled in; English where it is not translated. */
export function t(key, values = {}) {
  const text = chosen[key] || english[key];
  if (text === undefined) throw new Error(`no text "${key}"`);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? `{${name}}`);
}

/** Whether there is a text of that key. */
export function hasText(key) {
  return key in english;
}
