import { describe, expect, test } from 'vitest';
import { lineOfText, noteText, optionalNoteText } from './plain-text.ts';

const takes = (schema: ReturnType<typeof lineOfText>, text: string) => schema.safeParse(text).success;

const NAMES = [
  'Acme',
  ' Acme ',
  'Müller & Söhne',
  '株式会社',
  'شرکت می\u200cخواهم',
  'עברית',
  '👩\u200d🔧',
  'a\u00a0b',
  '0',
  '-',
];
const CONTROLS = ['\u0000', '\u0007', '\u001b[2J', '\u007f', '\u0085', '\u009b', '\u2028', '\u2029'];
const BIDIRECTIONAL = ['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069'];
const BLANK = ['', ' ', '\u00a0 ', '\u3000', '\u200b', '\ufeff\u2060', '\u3164', '\u00ad'];

describe('a name', () => {
  test.each(NAMES)('%j is taken as it is', (name) => expect(lineOfText(200).parse(name)).toBe(name));

  test.each([...CONTROLS, ...BIDIRECTIONAL, '\t', '\n', '\r'])('with %j is refused', (sign) => {
    for (const text of [sign, `Ac${sign}me`, `${sign}Acme`, `Acme${sign}`])
      expect(takes(lineOfText(200), text)).toBe(false);
  });

  test.each(BLANK)('%j is blank', (text) => expect(takes(lineOfText(200), text)).toBe(false));

  test('has a length', () => {
    expect(takes(lineOfText(3), 'abc')).toBe(true);
    expect(takes(lineOfText(3), 'abcd')).toBe(false);
  });

  test('an empty one has one fault', () => expect(lineOfText(3).safeParse('').error?.issues).toHaveLength(1));
});

describe('a note', () => {
  test.each([...NAMES, 'one\ntwo', 'one\r\ntwo\r\n', '\n\tindented\n'])('%j is taken as it is', (text) =>
    expect(noteText(200).parse(text)).toBe(text),
  );

  test.each([...CONTROLS, ...BIDIRECTIONAL])('with %j is refused', (sign) => {
    for (const schema of [noteText(200), optionalNoteText(200)])
      expect(takes(schema, `Ac${sign}\nme`)).toBe(false);
  });

  test.each([...BLANK, '\n', ' \r\n\t'])('%j is blank, which only an optional one may be', (text) => {
    expect(takes(noteText(200), text)).toBe(false);
    expect(takes(optionalNoteText(200), text)).toBe(true);
  });
});

test('a long text is refused in the time that its length takes', () => {
  const startedMs = performance.now();
  for (const text of [`${' '.repeat(200_000)}\u0000`, `${'x'.repeat(200_000)}\u0000`])
    for (const schema of [lineOfText(1e6), noteText(1e6)]) expect(takes(schema, text)).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});
