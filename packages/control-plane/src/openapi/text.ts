/** The checked-in spelling of the document: a line a member, so that a change of it can be read and reviewed. */
import type { OpenApiDocument } from '@freehold/operations/openapi';

/** The width that the repository's formatter gives a line. */
const LINE_WIDTH = 110;

/** Indented JSON as the repository's formatter leaves it: a list of plain values is one line where it fits. */
export function openApiText(document: OpenApiDocument): string {
  return `${written(document, { indent: '', before: 0, after: 0 })}\n`;
}

/** Where a value stands: what is in its line already, and what follows it there. */
interface Place {
  readonly indent: string;
  /** Columns that are taken by the indent and the member's name. */
  readonly before: number;
  /** 1 where a comma follows, else 0. */
  readonly after: 0 | 1;
}

function written(value: unknown, { indent, before, after }: Place): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const afterItem = (index: number, items: readonly unknown[]) => (index < items.length - 1 ? 1 : 0);
  if (Array.isArray(value)) {
    const oneLine = `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    const fits = before + oneLine.length + after <= LINE_WIDTH;
    if (value.length === 0 || (fits && value.every((item) => typeof item !== 'object' || item === null)))
      return oneLine;
    const items = value.map((item, index) => {
      const place = { indent: inner, before: inner.length, after: afterItem(index, value) } as const;
      return `${inner}${written(item, place)}`;
    });
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member], index, all) => {
    const start = `${inner}${JSON.stringify(name)}: `;
    return `${start}${written(member, { indent: inner, before: start.length, after: afterItem(index, all) })}`;
  });
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}
