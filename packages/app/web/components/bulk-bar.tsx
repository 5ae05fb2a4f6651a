/** Several records at once: one call for each, with what was refused named, and archiving that can be undone. */
import { useState } from 'react';
import type { DeclaredKind, DeclaredOperation } from '../../src/wire/declared.ts';
import { ask, asRefusal, Refusal } from '../lib/api.ts';
import { operationOf, ownOperations, useApp } from '../lib/app-context.tsx';
import type { JsonRecord } from '../lib/forms.ts';
import { spoken, t } from '../lib/language.ts';
import { titleOf } from '../lib/values.ts';
import { Button } from './basics.tsx';
import { perform } from './operation-button.tsx';

export function BulkBar({
  kind,
  items,
  onDone,
  onClear,
}: {
  readonly kind: DeclaredKind;
  readonly items: readonly JsonRecord[];
  readonly onDone: () => void;
  readonly onClear: () => void;
}) {
  const { declaration, notify } = useApp();
  const [done, setDone] = useState<number | null>(null);
  const archive = operationOf(declaration, `${kind.type}/archive`);
  const unarchive = operationOf(declaration, `${kind.type}/unarchive`);
  const isArchived = items.every(({ archivedAt }) => archivedAt !== null);
  const way = isArchived ? unarchive : archive;
  const others = isArchived
    ? []
    : ownOperations(declaration, kind.type).filter(
        // One that destroys something asks first, on the page of each record.
        ({ fields, isReading, isDestructive }) => fields.length === 0 && !isReading && !isDestructive,
      );

  const run = async (operation: DeclaredOperation, records: readonly JsonRecord[]): Promise<void> => {
    const refused: string[] = [];
    const performed: JsonRecord[] = [];
    for (const [index, record] of records.entries()) {
      setDone(index);
      try {
        const subject = { id: record.id as string, version: null };
        if (others.includes(operation)) await requireOffered(kind, operation, subject.id);
        await perform(operation, { input: {}, subject, key: crypto.randomUUID() });
        performed.push(record);
      } catch (error) {
        refused.push(`${titleOf(kind, record, spoken)}: ${asRefusal(error).message}`);
      }
    }
    setDone(null);
    const opposite = operation === archive ? unarchive : operation === unarchive ? archive : undefined;
    const said =
      operation === archive
        ? t.archived(performed.length)
        : operation === unarchive
          ? t.unarchived(performed.length)
          : `${t.done(operation.summary)} (${performed.length})`;
    notify({
      text: refused.length > 0 ? `${said} ${t.refusedOf(refused.length, records.length)}` : said,
      isBad: refused.length > 0,
      lines: refused,
      ...(opposite && performed.length > 0 && { undo: () => run(opposite, performed) }),
    });
    onDone();
  };
  if (items.length === 0 && done === null) return null;
  return (
    <div className="bulk">
      <p role="status">{done === null ? t.selected(items.length) : t.working(done, items.length)}</p>
      {done === null && (
        <div className="row">
          {others.map((operation) => (
            <Button key={operation.name} onClick={() => run(operation, items)}>
              {operation.summary}
            </Button>
          ))}
          {way && <Button onClick={() => run(way, items)}>{isArchived ? t.unarchive : t.archive}</Button>}
          <Button look="quiet" onClick={onClear}>
            {t.clearSelection}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Refuses an operation that the page of the record would not show now. */
async function requireOffered(
  { path }: DeclaredKind,
  { name }: DeclaredOperation,
  id: string,
): Promise<void> {
  const { value } = await ask<{ operations: readonly string[] }>(`${path}/${id}/operations`);
  if (!value.operations.includes(name))
    throw new Refusal({ status: 409, code: 'conflict', detail: t.notOffered });
}
