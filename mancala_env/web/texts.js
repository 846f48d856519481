/** The page's texts, one file per language. texts/en.json is complete; others hold what has been translated. */

export const LANGUAGES = { en: "English", so: "Soomaali", am: "አማርኛ" };

let english = {};
let chosen = {};

/** Use the English texts, overridden by those of another language. */
export function useTexts(inEnglish, inOther = {}) {
  english = inEnglish;
  chosen = inOther;
}

/** Load all languages; returns the language in use and those that are complete. */
export async function loadTexts(wanted) {
  const files = await Promise.all(
    Object.keys(LANGUAGES).map(async (language) => [language, await (await fetch(new URL(`texts/${language}.json`, import.meta.url))).json()]),
  );
  const texts = Object.fromEntries(files);
  const keys = Object.keys(texts.en);
  const languages = Object.keys(texts).filter((language) => keys.every((key) => texts[language][key]));
  const language = languages.includes(wanted) ? wanted : "en";
  useTexts(texts.en, texts[language]);
  return { language, languages };
}

/** A whole number with separators of the language. */
export const numberText = (number) => number.toLocaleString(document.documentElement.lang);

/** The text of a key with its {names} filled in; in English without a translation. */
export function t(key, values = {}) {
  const text = chosen[key] || english[key];
  if (text === undefined) throw new Error(`no text "${key}"`);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? `{${name}}`);
}
