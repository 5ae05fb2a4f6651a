/** The checked-in spelling of the document: a line a member, so that a change of it can be read and reviewed. */
import type { OpenApiDocument } from './document.ts';

/** The width that the repository's formatter gives a line. */
const LINE_WIDTH = 110;

/** Indented JSON as the repository's formatter leaves it: a list of plain values is one line where it fits. */
export function openApiText(document: OpenApiDocument): string {
  return `${written(document, '', 0)}\n`;
}

/** @param before how many columns of the line are taken already, by the indent and the member's name. */
function written(value: unknown, indent: string, before: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const oneLine = `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    // One column is left for the comma behind it.
    const fits = before + oneLine.length + 1 <= LINE_WIDTH;
    if (value.length === 0 || (fits && value.every((item) => typeof item !== 'object' || item === null)))
      return oneLine;
    return `[\n${value.map((item) => `${inner}${written(item, inner, inner.length)}`).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member]) => {
    const start = `${inner}${JSON.stringify(name)}: `;
    return `${start}${written(member, inner, start.length)}`;
  });
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}
