/**
 * Redacts the message of an error: removes everything that looks like a value. The rest is the same for every occurrence of
 * one fault, so that it groups them, and holds no personal data, so that it may be shown.
 *
 * It removes rather too much: all quoted text goes. Names in plain prose are not recognised.
 */

/** Longer messages are cut first, which bounds the work of every pattern below. */
const READ_MAX = 1000;
const SHOWN_MAX = 300;

/** In this order: longer and more specific patterns first. No pattern has nested repetition. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\{.*\}|\{.*$|`[^`]*`|“[^”]*”|(?<![\p{L}\p{N}])'[^']*'/gu, '<text>'],
  [/\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s<>]+/gi, '<url>'],
  [/\b(?:bearer|basic)\s+[^\s<>]+/gi, '<secret>'],
  [
    /\b([\w-]{0,32}(?:pass(?:word|wd|phrase)?|secret|token|api[-_ ]?key|authorization|cookie|credential))\b\s*[:=]\s*[^\s<>]+/gi,
    '$1=<secret>',
  ],
  [/[^\s@<>]{1,64}@[^\s@<>]{1,255}/g, '<email>'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b[a-z]{2,8}_[0-7][0-9a-hjkmnp-tv-z]{25}\b/gi, '<id>'],
  [/\b0x[0-9a-f]+\b/gi, '<address>'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?!\w|\.\d)/g, '<address>'],
  [/(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])/gi, '<address>'],
  [/(?<![\w<>/])(?:[a-z]:|~|\.{1,2})?[\\/][^\s<>"']+/gi, '<path>'],
  // A word with digits and letters mixed, or a very long one, is an id, a hash or a key.
  [/(?<![\w<])(?=[\w.+/=-]{0,200}\d)(?=[\w.+/=-]{0,200}[a-z])[\w.+/=-]{12,}/gi, '<token>'],
  [/[\w+/=-]{40,}/g, '<token>'],
  [/(?<![\p{L}_<])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?/giu, '<n>'],
  // An opening quote that never closes may begin a value that was cut off.
  [/[`“].*$/gu, '<text>'],
];

/** Removes possible values, and shortens. Line breaks and control characters become single spaces. */
export function redact(message: string): string {
  let text = message
    .slice(0, READ_MAX)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  text = withoutQuoted(text);
  for (const [pattern, replacement] of PATTERNS) text = text.replaceAll(pattern, replacement);
  return text.slice(0, SHOWN_MAX).toWellFormed();
}

/**
 * Removes the text from the first double quote to the last one: JSON in messages has quotes of its own. With an odd number
 * of quotes the end was cut off.
 */
function withoutQuoted(text: string): string {
  const plain = text.replaceAll('\\"', '');
  const first = plain.indexOf('"');
  if (first < 0) return plain;
  const isWhole = plain.split('"').length % 2 === 1;
  return `${plain.slice(0, first)}<text>${isWhole ? plain.slice(plain.lastIndexOf('"') + 1) : ''}`;
}
