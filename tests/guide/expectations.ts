/** Compares results with the guide, in which `…` stands for text that differs each time. */
import { isDeepStrictEqual, stripVTControlCharacters } from 'node:util';

const ANYTHING = '…';

/** Returns a pattern of these lines in order; blank lines and blanks at either end do not count. */
export function linesPattern(expected: string): RegExp {
  const lines = expected
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return new RegExp(lines.map((line) => `^[ \\t]*${patternOf(line)}[ \\t]*$`).join('\\s+'), 'm');
}

/** @throws Error that shows both, unless the output is exactly these lines, or has them somewhere. */
export function requireLines(expected: string, output: string, how: 'exactly' | 'somewhere'): void {
  const plain = stripVTControlCharacters(output);
  const found = linesPattern(expected).exec(plain)?.[0];
  if (found === undefined || (how === 'exactly' && found.trim() !== plain.trim()))
    throw new Error(`the guide says\n${expected}\nand this is there:\n${output}`);
}

/** @throws Error that shows both, unless the JSON is the same, its keys in any order. */
export function requireJson(expected: string, output: string): void {
  const wanted: unknown = JSON.parse(expected);
  if (!isDeepStrictEqual(covered(wanted, parsed(output)), wanted))
    throw new Error(`the guide says\n${expected}\nand this is there:\n${output}`);
}

function patternOf(line: string): string {
  return escaped(line).replaceAll(ANYTHING, '.+');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** Returns undefined for text that is no JSON, which the guide never shows. */
function parsed(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

/** Returns the value, with `…` wherever the guide has it. */
function covered(expected: unknown, value: unknown): unknown {
  if (typeof expected === 'string' && typeof value === 'string')
    return new RegExp(`^${patternOf(expected)}$`).test(value) ? expected : value;
  if (Array.isArray(expected) && Array.isArray(value))
    return value.map((each, index) => covered(expected[index], each));
  if (isRecord(expected) && isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, covered(expected[key], each)]),
    );
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
