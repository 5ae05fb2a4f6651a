/**
 * Pseudonyms in the place of personal values. The same value gets the same pseudonym within one copy, so that what was equal
 * or unique stays so. Their key is random and forgotten with the copy: no pseudonym leads back.
 */
import { createHmac } from 'node:crypto';

/** Returns what stands for a value of a copy, in the form that values have in its lines. */
export type Mask = (value: unknown) => unknown;

/** @param key fresh random bytes, for one copy. */
export function makeMask(key: Uint8Array): Mask {
  const digest = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const word = (text: string): string => digest(text).toString('hex').slice(0, 12);
  /** A whole number with as many digits, so that it passes where the value did. */
  const whole = (digits: string): number => {
    const first = 10 ** (Math.min(digits.length, 15) - 1);
    const span = Math.max(1, 9 * first);
    return Math.floor(first + (digest(digits).readUIntBE(0, 6) % span));
  };

  const maskText = (text: string): string => {
    if (text === '') return '';
    const json = jsonIn(text);
    if (json !== undefined) return JSON.stringify(maskWithin(json));
    // A day that tells nothing, in the same form.
    if (DAY.test(text)) return text.replace(DAY, '2000-01-01').replace(/T[\d:.]+/, 'T00:00:00');
    if (/^[^\s@]+@[^\s@]+$/.test(text)) return `masked-${word(text)}@example.invalid`;
    return `masked-${word(text)}`;
  };
  const maskWithin = (value: unknown): unknown => {
    if (typeof value === 'string') return maskText(value);
    if (typeof value === 'number') return whole(String(Math.abs(Math.trunc(value))));
    if (Array.isArray(value)) return value.map(maskWithin);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, maskWithin(each)]));
    return value;
  };

  return (value) => {
    if (value === null) return null;
    if (typeof value === 'string') return isSealed(value) ? value : maskText(value);
    if (typeof value === 'number') return whole(String(Math.abs(Math.trunc(value))));
    const [name, text = ''] = Object.entries(value as Readonly<Record<string, string>>)[0] ?? [];
    if (name === '$bytes') return { $bytes: digest(text).toString('base64') };
    return whole(text.replace(/\D/g, '') || '0');
  };
}

const DAY = /^\d{4}-\d{2}-\d{2}(?=$|T)/;
const ID = /^[a-z][a-z0-9]{1,15}_[0-9a-z]{26}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** Text that was sealed for a person (store: `seal`). It stays as it is: a preview has no key that opens it. */
export function isSealed(text: string): boolean {
  return /^v1\.[\w-]{16}\.[\w-]{22,}$/.test(text);
}

/** Whether a value is text that may say something about a person: no id, no time, and not sealed. */
export function isText(value: unknown): boolean {
  return (
    typeof value === 'string' && value !== '' && !ID.test(value) && !MOMENT.test(value) && !isSealed(value)
  );
}

/** The object or list that a text is in JSON; undefined for every other text. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
