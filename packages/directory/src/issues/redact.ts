/**
 * An error's words without whatever looks like a value. What is left is the same for every occurrence of one fault, so
 * it groups them, and holds nothing about anybody, so it may be shown.
 *
 * It errs on the side of taking too much: quoted text is always taken. Names in plain prose are not recognised.
 */

/** Longer messages are cut first: every pattern below is tried on at most so many characters. */
const READ_MAX = 1000;
const SHOWN_MAX = 300;

/** In this order: what is longer and more telling first. No pattern has nested repetition. */
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

/** Takes out what may be a value, and shortens. Line breaks and control characters become single spaces. */
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
 * From the first double quote to the last one: JSON is quoted in messages as it is, with quotes of its own inside. An
 * odd number of them says that the end was cut off.
 */
function withoutQuoted(text: string): string {
  const plain = text.replaceAll('\\"', '');
  const first = plain.indexOf('"');
  if (first < 0) return plain;
  const isWhole = plain.split('"').length % 2 === 1;
  return `${plain.slice(0, first)}<text>${isWhole ? plain.slice(plain.lastIndexOf('"') + 1) : ''}`;
}
