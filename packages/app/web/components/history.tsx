/** The events of a record: who did it, and when. */
import { useState } from 'react';
import type { DeclaredField, DeclaredKind } from '../../src/wire/declared.ts';
import type { HistoryEntry } from '../../src/wire/wire.ts';
import { ask, asRefusal, type Refusal } from '../lib/api.ts';
import { kindOf, useApp } from '../lib/app-context.tsx';
import type { Loaded } from '../lib/hooks.ts';
import { locale, spoken, t } from '../lib/language.ts';
import { momentText, shownOf } from '../lib/values.ts';
import { Button, RefusalNote } from './basics.tsx';
import { useName } from './relation-picker.tsx';

const PAGE_SIZE = 10;

export interface HistoryPage {
  readonly items: readonly HistoryEntry[];
  readonly nextCursor: string | null;
  readonly withheld: boolean;
}

/** Returns the address of the events of a record. @param path that of the record. */
export function historyAddress(path: string): string {
  return `${path}/history?limit=${PAGE_SIZE}`;
}

export function History({
  kind,
  address,
  first,
}: {
  readonly kind: DeclaredKind;
  readonly address: string;
  readonly first: Loaded<HistoryPage>;
}) {
  const [more, setMore] = useState<{ readonly after: HistoryPage; readonly page: HistoryPage } | null>(null);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  // Further events belong to the answer that they followed.
  const page = more?.after === first.value ? more?.page : first.value;
  const loadMore = async (after: HistoryPage, { items, nextCursor }: HistoryPage): Promise<void> => {
    setRefusal(null);
    try {
      const query = new URLSearchParams({ cursor: nextCursor ?? '' });
      const { value } = await ask<HistoryPage>(`${address}&${query}`);
      setMore({ after, page: { ...value, items: [...items, ...value.items] } });
    } catch (error) {
      setRefusal(asRefusal(error));
    }
  };
  return (
    <section className="card" aria-labelledby="history">
      <h2 id="history">{t.history}</h2>
      {first.refusal && <RefusalNote refusal={first.refusal} retry={first.reload} />}
      {page?.items.length === 0 && <p className="soft">{t.noHistory}</p>}
      <ol className="story">
        {page?.items.map((entry) => (
          <Entry key={entry.id} {...{ kind, entry }} />
        ))}
      </ol>
      {page?.withheld && <p className="soft small">{t.withheld}</p>}
      {refusal && <RefusalNote refusal={refusal} />}
      {first.value && page?.nextCursor && (
        <Button onClick={() => loadMore(first.value as HistoryPage, page)}>{t.more}</Button>
      )}
    </section>
  );
}

function Entry({ kind, entry }: { readonly kind: DeclaredKind; readonly entry: HistoryEntry }) {
  const payload = isRecord(entry.payload) ? entry.payload : {};
  const values = kind.fields.filter(({ name }) => Object.hasOwn(payload, name));
  const personal = Array.isArray(payload.personal)
    ? payload.personal.map((name) => kind.fields.find((field) => field.name === name)?.label ?? String(name))
    : [];
  const verb = entry.type.slice(entry.type.indexOf('.') + 1);
  const isCreated = verb === 'created';
  return (
    <li>
      <p>
        <strong>{entry.actor.name ?? t.someone}</strong>{' '}
        {entry.type.startsWith(`${kind.type}.`) && Object.hasOwn(t.events, verb)
          ? verb === 'updated' && personal.length > 0 && values.length === 0
            ? t.changedFields(personal.join(', '))
            : t.events[verb as keyof typeof t.events]
          : verb.replaceAll(/[._-]/g, ' ')}{' '}
        <time className="soft" dateTime={entry.at}>
          {momentText(entry.at, locale)}
        </time>
      </p>
      {!isCreated && (values.length > 0 || personal.length > 0) && verb === 'updated' && (
        <ul className="changes">
          {values.map((field) => (
            <li key={field.name}>
              {field.label}: <Said field={field} value={payload[field.name]} />
            </li>
          ))}
          {values.length > 0 && personal.map((label) => <li key={label}>{label}</li>)}
        </ul>
      )}
    </li>
  );
}

/** A value in an event: a related record is its id there. */
function Said({ field, value }: { readonly field: DeclaredField; readonly value: unknown }) {
  const { declaration } = useApp();
  const isRelated = field.kind === 'relation' && typeof value === 'string';
  const name = useName(
    isRelated ? kindOf(declaration, field.target ?? '') : undefined,
    isRelated ? { id: value, name: null } : null,
  );
  return <>{isRelated ? name : shownOf(field, value, spoken) || '–'}</>;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
