/** The events of a record: who did it, and when. */
import { useEffect, useState } from 'react';
import type { DeclaredField, DeclaredKind } from '../../src/wire/declared.ts';
import type { HistoryEntry } from '../../src/wire/wire.ts';
import { ask, asRefusal, type Refusal } from '../lib/api.ts';
import { kindOf, useApp } from '../lib/app-context.tsx';
import { locale, t } from '../lib/language.ts';
import { momentText, shownOf } from '../lib/values.ts';
import { Button, RefusalNote } from './basics.tsx';
import { useName } from './relation-picker.tsx';

const PAGE_SIZE = 10;

interface Page {
  readonly items: readonly HistoryEntry[];
  readonly nextCursor: string | null;
  readonly withheld: boolean;
}

/** @param times changes when there is something new. */
export function History({
  kind,
  path,
  times,
}: {
  readonly kind: DeclaredKind;
  readonly path: string;
  readonly times: number;
}) {
  const [page, setPage] = useState<Page | null>(null);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const load = async (cursor: string | null): Promise<void> => {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(cursor === null ? {} : { cursor }) });
    try {
      const { value } = await ask<Page>(`${path}?${query}`);
      setRefusal(null);
      setPage((before) =>
        cursor === null || !before ? value : { ...value, items: [...before.items, ...value.items] },
      );
    } catch (error) {
      setRefusal(asRefusal(error));
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page of the same path is asked for by its button.
  useEffect(() => void load(null), [path, times]);
  return (
    <section className="card" aria-labelledby="history">
      <h2 id="history">{t.history}</h2>
      {refusal && <RefusalNote refusal={refusal} retry={() => load(null)} />}
      {page?.items.length === 0 && <p className="soft">{t.noHistory}</p>}
      <ol className="story">
        {page?.items.map((entry) => (
          <Entry key={entry.id} {...{ kind, entry }} />
        ))}
      </ol>
      {page?.withheld && <p className="soft small">{t.withheld}</p>}
      {page?.nextCursor && <Button onClick={() => load(page.nextCursor)}>{t.more}</Button>}
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
  return <>{isRelated ? name : shownOf(field, value, { locale, t }) || '–'}</>;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
