/** The list of a type of records: search, filters, order, columns, several rows at once. Its state is its address. */
import { useEffect, useRef, useState } from 'react';
import type { DeclaredField, DeclaredKind } from '../../src/wire/declared.ts';
import { Button, Empty, Icon, Link, PageHead, RefusalNote } from '../components/basics.tsx';
import { BulkBar } from '../components/bulk-bar.tsx';
import { FilterField } from '../components/filter-field.tsx';
import { OperationButton } from '../components/operation-button.tsx';
import { isNumeric, Value } from '../components/value.tsx';
import { generalOperations, operationOf, useApp } from '../lib/app-context.tsx';
import type { JsonRecord } from '../lib/forms.ts';
import { useKeys, useLoad, useStored } from '../lib/hooks.ts';
import { spoken, t } from '../lib/language.ts';
import {
  chosenColumns,
  type ListState,
  listQuery,
  offeredFilters,
  readList,
  withFilter,
} from '../lib/lists.ts';
import { navigate, usePlace } from '../lib/router.ts';
import { titleOf } from '../lib/values.ts';

const PAGE_SIZE = 25;
const PAUSE_MS = 250;

interface Listed {
  readonly items: readonly JsonRecord[];
  readonly nextCursor: string | null;
  readonly cut?: boolean;
}

interface Selection {
  readonly search: string;
  readonly ids: ReadonlySet<string>;
}

export function ListPage({ kind }: { readonly kind: DeclaredKind }) {
  const { declaration } = useApp();
  const { search } = usePlace();
  const state = readList(kind, search);
  const query = listQuery(kind, state);
  query.set('limit', String(PAGE_SIZE));
  const { value, refusal, isLoading, reload } = useLoad<Listed>(`${kind.path}?${query}`);
  // Of this page alone: what is ticked elsewhere is not seen, and several rows at once would take it.
  const [selection, setSelection] = useState<Selection>({ search, ids: new Set() });
  const selected: ReadonlySet<string> = selection.search === search ? selection.ids : new Set();
  const setSelected = (ids: ReadonlySet<string>) => setSelection({ search, ids });
  const [columns, chooseColumns] = useColumns(kind);
  const go = (next: Partial<ListState>, options?: { readonly replace: boolean }) => {
    const rest = listQuery(kind, { ...state, cursor: null, ...next }).toString();
    navigate(rest === '' ? kind.page : `${kind.page}?${rest}`, options);
  };
  const mayAdd = operationOf(declaration, `${kind.type}/create`) !== undefined;
  const searchField = useRef<HTMLInputElement>(null);
  useKeys({
    '/': () => searchField.current?.focus(),
    n: mayAdd ? () => navigate(`${kind.page}/new`) : undefined,
  });
  const items = value?.items ?? [];
  const isNarrowed = state.q !== '' || Object.keys(state.filters).length > 0;
  return (
    <>
      <PageHead title={state.isArchived ? t.inArchive(kind.several) : kind.several}>
        {generalOperations(declaration, kind.type).map((operation) => (
          <OperationButton key={operation.name} operation={operation} onDone={reload} />
        ))}
        {mayAdd && (
          <Link className="button main" to={`${kind.page}/new`}>
            <Icon name="plus" />
            {t.add(kind.singular)}
          </Link>
        )}
      </PageHead>
      <Tools key={kind.type} {...{ kind, state, go, searchField, columns, chooseColumns }} />
      {refusal && <RefusalNote refusal={refusal} retry={reload} />}
      {value?.cut && (
        <p className="note" role="status">
          {t.cut}
        </p>
      )}
      {value && items.length === 0 && (
        <EmptyList {...{ kind, state, isNarrowed, mayAdd }} onClear={() => go({ q: '', filters: {} })} />
      )}
      {items.length > 0 && (
        <Table
          {...{ kind, state, items, columns, isLoading, selected }}
          onSelect={setSelected}
          onSort={(sort) => go({ sort })}
        />
      )}
      {!value && isLoading && <Waiting />}
      <p className="said" role="status">
        {value && !isLoading && isNarrowed ? t.matches(items.length) : ''}
      </p>
      {(value?.nextCursor || state.cursor !== null) && (
        <nav className="row pager" aria-label={t.pages}>
          {state.cursor !== null && (
            <>
              <Button onClick={() => go({ cursor: null })}>{t.first}</Button>
              <Button onClick={() => history.back()}>{t.previous}</Button>
            </>
          )}
          {value?.nextCursor && <Button onClick={() => go({ cursor: value.nextCursor })}>{t.next}</Button>}
        </nav>
      )}
      <BulkBar
        kind={kind}
        items={items.filter(({ id }) => selected.has(id as string))}
        onDone={() => {
          setSelected(new Set());
          reload();
        }}
        onClear={() => setSelected(new Set())}
      />
    </>
  );
}

function EmptyList({
  kind,
  state,
  isNarrowed,
  mayAdd,
  onClear,
}: {
  readonly kind: DeclaredKind;
  readonly state: ListState;
  readonly isNarrowed: boolean;
  readonly mayAdd: boolean;
  readonly onClear: () => void;
}) {
  if (isNarrowed)
    return (
      <Empty title={t.noHits} what={t.noHitsWhat}>
        <Button onClick={onClear}>{t.clear}</Button>
      </Empty>
    );
  if (state.isArchived) return <Empty title={t.emptyArchive} what={t.emptyArchiveWhat} />;
  return (
    <Empty title={t.emptyTitle(kind.several)} what={t.emptyWhat}>
      {mayAdd && (
        <Link className="button main" to={`${kind.page}/new`}>
          {t.add(kind.singular)}
        </Link>
      )}
    </Empty>
  );
}

interface ToolsProps {
  readonly kind: DeclaredKind;
  readonly state: ListState;
  readonly go: (next: Partial<ListState>, options?: { readonly replace: boolean }) => void;
  readonly searchField: React.RefObject<HTMLInputElement | null>;
  readonly columns: readonly DeclaredField[];
  readonly chooseColumns: ChooseColumns;
}

function Tools({ kind, state, go, searchField, columns, chooseColumns }: ToolsProps) {
  const { declaration } = useApp();
  const exported = listQuery(kind, { ...state, cursor: null });
  const [typed, setTyped] = useState(state.q);
  const latest = useRef(go);
  latest.current = go;
  // The address wins when the reader goes back.
  useEffect(() => setTyped(state.q), [state.q]);
  useEffect(() => {
    if (typed.trim() === state.q) return;
    const wait = setTimeout(() => latest.current({ q: typed.trim() }, { replace: true }), PAUSE_MS);
    return () => clearTimeout(wait);
  }, [typed, state.q]);
  const offered = offeredFilters(kind.filters, Object.keys(state.filters));
  return (
    <div className="tools">
      {kind.isSearched && (
        <search className="search">
          <Icon name="search" />
          <input
            ref={searchField}
            type="search"
            aria-label={t.search(kind.several)}
            placeholder={t.search(kind.several)}
            value={typed}
            maxLength={100}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        </search>
      )}
      {offered.map((name) => {
        const field = kind.fields.find((each) => each.name === name);
        return (
          field && (
            <FilterField
              key={name}
              field={field}
              value={state.filters[name] ?? ''}
              onChange={(value) => go({ filters: withFilter(kind.filters, state.filters, [name, value]) })}
            />
          )
        );
      })}
      {kind.sorts.length > 0 && (
        <label className="inline-field">
          <span>{t.sort}</span>
          <select value={state.sort} onChange={(event) => go({ sort: event.target.value })}>
            {kind.sorts.flatMap((name) => {
              const label = labelOf(kind, name);
              return [
                <option key={name} value={name}>
                  {t.ascending(label)}
                </option>,
                <option key={`-${name}`} value={`-${name}`}>
                  {t.descending(label)}
                </option>,
              ];
            })}
          </select>
        </label>
      )}
      <Columns {...{ kind, columns, chooseColumns }} />
      {operationOf(declaration, `${kind.type}/export`) && (
        <>
          <a className="button quiet" href={`/api/${kind.type}-exports/file?${exported}`} download>
            <Icon name="save" />
            {t.export}
          </a>
          <a
            className="button quiet only-wide"
            href={`/api/${kind.type}-exports/file.xlsx?${exported}`}
            download
          >
            <Icon name="save" />
            {t.workbook}
          </a>
        </>
      )}
      {operationOf(declaration, `${kind.type}/import`) && (
        <Link className="button quiet" to={`${kind.page}/import`}>
          <Icon name="load" />
          {t.import}
        </Link>
      )}
      <Button look="quiet" onClick={() => go({ isArchived: !state.isArchived })}>
        <Icon name="box" />
        {state.isArchived ? t.showPresent : t.showArchived}
      </Button>
    </div>
  );
}

function labelOf(kind: DeclaredKind, name: string): string {
  return name === 'createdAt'
    ? t.createdAt
    : (kind.fields.find((field) => field.name === name)?.label ?? name);
}

type ChooseColumns = (names: readonly string[]) => void;

/** The columns that this reader chose, in this browser. */
function useColumns(kind: DeclaredKind): readonly [readonly DeclaredField[], ChooseColumns] {
  const [stored, store] = useStored(`columns:${kind.type}`);
  return [chosenColumns(kind, stored?.split(',') ?? null), (names) => store(names.join(','))];
}

function Columns({ kind, columns, chooseColumns }: Pick<ToolsProps, 'kind' | 'columns' | 'chooseColumns'>) {
  const chosen = columns.map(({ name }) => name);
  return (
    <details className="menu only-wide" onKeyDown={closeOnEscape} onBlur={closeOnLeave}>
      <summary className="button quiet">
        <Icon name="columns" />
        {t.columns}
      </summary>
      <div className="menu-list">
        {kind.fields.map((field) => (
          <label className="check" key={field.name}>
            <input
              type="checkbox"
              checked={chosen.includes(field.name)}
              disabled={field.name === kind.title}
              onChange={(event) => {
                const others = chosen.filter((name) => name !== field.name);
                chooseColumns(event.target.checked ? [...others, field.name] : others);
              }}
            />
            {field.label}
          </label>
        ))}
      </div>
    </details>
  );
}

function closeOnEscape(event: React.KeyboardEvent<HTMLDetailsElement>): void {
  if (event.key !== 'Escape' || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector('summary')?.focus();
}

function closeOnLeave(event: React.FocusEvent<HTMLDetailsElement>): void {
  if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget))
    event.currentTarget.open = false;
}

interface TableProps {
  readonly kind: DeclaredKind;
  readonly state: ListState;
  readonly items: readonly JsonRecord[];
  readonly columns: readonly DeclaredField[];
  readonly isLoading: boolean;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly onSort: (sort: string) => void;
}

function Table({ kind, state, items, columns, isLoading, selected, onSelect, onSort }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const nameOf = (item: JsonRecord): string => titleOf(kind, item, spoken);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect(next);
  };
  const links = (): HTMLElement[] => [...(body.current?.querySelectorAll<HTMLElement>('.row-link') ?? [])];
  /** The row that has the focus, by its number. */
  const focused = () => links().findIndex((link) => link.closest('tr')?.contains(document.activeElement));
  const move = (by: number) => {
    const all = links();
    const at = focused();
    all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const item = items[focused()];
      if (item) toggle(item.id as string);
    },
  });
  const isAll = items.every(({ id }) => selected.has(id as string));
  return (
    <div className="table-frame" aria-busy={isLoading}>
      <table>
        <caption className="said">{kind.several}</caption>
        <thead>
          <tr>
            <th className="pick">
              <input
                type="checkbox"
                aria-label={t.selectAll}
                checked={isAll}
                onChange={() => onSelect(new Set(isAll ? [] : items.map(({ id }) => id as string)))}
              />
            </th>
            {columns.map((field) => (
              <Heading key={field.name} {...{ field, kind, state, onSort }} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {items.map((item) => {
            const id = item.id as string;
            return (
              <tr key={id} className={selected.has(id) ? 'picked' : undefined}>
                <td className="pick">
                  <input
                    type="checkbox"
                    aria-label={t.select(nameOf(item))}
                    checked={selected.has(id)}
                    onChange={() => toggle(id)}
                  />
                </td>
                <th scope="row">
                  <Link className="row-link" to={`${kind.page}/${id}`}>
                    {nameOf(item)}
                  </Link>
                </th>
                {columns.slice(1).map((field) => (
                  <td key={field.name} data-label={field.label} className={classOf(field, item[field.name])}>
                    <Value field={field} value={item[field.name]} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** On a phone, a cell without a value is left out. */
function classOf(field: DeclaredField, value: unknown): string | undefined {
  const names = [isNumeric(field) && 'numeric', (value === null || value === '') && 'without'];
  return names.filter(Boolean).join(' ') || undefined;
}

function Heading({
  field,
  kind,
  state,
  onSort,
}: {
  readonly field: DeclaredField;
  readonly kind: DeclaredKind;
  readonly state: ListState;
  readonly onSort: (sort: string) => void;
}) {
  const className = isNumeric(field) ? 'numeric' : undefined;
  if (!kind.sorts.includes(field.name)) return <th className={className}>{field.label}</th>;
  const isUp = state.sort === field.name;
  const isDown = state.sort === `-${field.name}`;
  return (
    <th className={className} aria-sort={isUp ? 'ascending' : isDown ? 'descending' : 'none'}>
      <button type="button" className="sort" onClick={() => onSort(isUp ? `-${field.name}` : field.name)}>
        {field.label}
        {(isUp || isDown) && <Icon name={isUp ? 'up' : 'down'} />}
      </button>
    </th>
  );
}

function Waiting() {
  return (
    <div className="waiting" role="status">
      <span className="said">{t.loading}</span>
      <i />
      <i />
      <i />
      <i />
    </div>
  );
}
