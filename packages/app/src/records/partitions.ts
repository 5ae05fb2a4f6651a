/**
 * The parts of a table of records. Imported records come into a part of their own, which no reader looks at; one mark on
 * the import shows all of them at once, and they then move to the others a few at a time.
 */
import type { OperationContext } from '@freehold/kernel';
import type { RecordTable } from './tables.ts';

export const LIVE = 0;
export const ARCHIVED = 1;
export const IMPORTED = 2;

/** The marks of an import (`ctx.markedWork`): its records are hidden, or shown and not yet moved. */
export const HIDDEN = 'hidden';
export const SHOWN = 'shown';

interface OfType {
  readonly type: string;
  readonly table: Pick<RecordTable, 'hasImports'>;
}

/** The kind of long work that imports records of a type. */
export function importKind(type: string): string {
  return `${type}/import`;
}

/** Whether imported records are there for readers. */
export function isImportShown(ctx: Pick<OperationContext, 'markedWork'>, { type, table }: OfType): boolean {
  return table.hasImports && ctx.markedWork(importKind(type), SHOWN) !== null;
}

/** Returns the condition for records that are there and not archived. */
export function liveCondition(ctx: Pick<OperationContext, 'markedWork'>, records: OfType): string {
  return isImportShown(ctx, records) ? `archived IN (${LIVE}, ${IMPORTED})` : `archived = ${LIVE}`;
}
