/** A line of JSON after the SHA-256 of its text, so that damage to a file's description is noticed. */
import { createHash } from 'node:crypto';

const DIGEST_CHARACTERS = 64;

export function checkedLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${sha256(json)} ${json}\n`;
}

/** Parses a line of {@link checkedLine}; returns null for any other line. */
export function parseCheckedLine<T>(line: string): T | null {
  const json = line.slice(DIGEST_CHARACTERS + 1, line.endsWith('\n') ? -1 : undefined);
  if (line[DIGEST_CHARACTERS] !== ' ' || line.slice(0, DIGEST_CHARACTERS) !== sha256(json)) return null;
  return JSON.parse(json) as T;
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
