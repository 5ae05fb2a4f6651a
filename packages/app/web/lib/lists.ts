/** The state of a list in its address: what is searched, narrowed, sorted, and where the page is. Pure. */
import type { DeclaredField, DeclaredKind } from '../../src/wire/declared.ts';

export interface ListState {
  readonly q: string;
  readonly sort: string;
  readonly isArchived: boolean;
  readonly filters: Readonly<Record<string, string>>;
  readonly cursor: string | null;
}

/** Reads what the kind declares, and nothing else: an address can be old, or typed. */
export function readList(
  kind: Pick<DeclaredKind, 'filters' | 'sorts' | 'isSearched'>,
  search: string,
): ListState {
  const query = new URLSearchParams(search);
  const sort = query.get('sort') ?? '';
  const isDeclared = kind.sorts.includes(sort.replace(/^-/, ''));
  const names = new Set(kind.filters.flat());
  const filters = Object.fromEntries([...query].filter(([name, value]) => names.has(name) && value !== ''));
  return {
    q: kind.isSearched ? (query.get('q') ?? '') : '',
    sort: isDeclared ? sort : (kind.sorts[0] ?? ''),
    isArchived: query.get('archived') === 'true',
    filters: isCombination(kind.filters, Object.keys(filters)) ? filters : {},
    cursor: query.get('cursor'),
  };
}

/** The query of a state, for the page and for the API alike; what is usual is left out. */
export function listQuery(kind: Pick<DeclaredKind, 'sorts'>, state: ListState): URLSearchParams {
  const query = new URLSearchParams();
  if (state.q.trim() !== '') query.set('q', state.q.trim());
  for (const [name, value] of Object.entries(state.filters)) query.set(name, value);
  if (state.sort !== kind.sorts[0]) query.set('sort', state.sort);
  if (state.isArchived) query.set('archived', 'true');
  if (state.cursor !== null) query.set('cursor', state.cursor);
  return query;
}

type Combinations = readonly (readonly string[])[];

function isCombination(filters: Combinations, names: readonly string[]): boolean {
  return (
    names.length === 0 ||
    filters.some((each) => each.length === names.length && names.every((name) => each.includes(name)))
  );
}

/** The filters that can be set now: those in use, and those that make a declared combination with some of them. */
export function offeredFilters(filters: Combinations, current: readonly string[]): string[] {
  return [...new Set(filters.flat())].filter(
    (name) => current.includes(name) || isReachable(filters, current, name),
  );
}

function isReachable(filters: Combinations, current: readonly string[], name: string): boolean {
  return filters.some(
    (each) => each.includes(name) && each.every((part) => part === name || current.includes(part)),
  );
}

/** The filters after one is set, or cleared by an empty value: as many of the others stay as a declared combination has. */
export function withFilter(
  filters: Combinations,
  current: ListState['filters'],
  [name, value]: readonly [name: string, value: string],
): Record<string, string> {
  const wanted = { ...current, [name]: value };
  if (value === '') delete wanted[name];
  const names = Object.keys(wanted);
  const best = filters
    .filter((each) => each.every((part) => names.includes(part)) && (value === '' || each.includes(name)))
    .toSorted((one, other) => other.length - one.length)[0];
  return Object.fromEntries((best ?? []).map((each) => [each, wanted[each] as string]));
}

/** The columns at first: the title, then the others as long as they fit. Long texts and JSON are for the page of a record. */
export function usualColumns({ fields, title }: Pick<DeclaredKind, 'fields' | 'title'>): string[] {
  const others = fields.filter(({ name, kind }) => name !== title && kind !== 'text' && kind !== 'json');
  return [title, ...others.slice(0, 5).map(({ name }) => name)];
}

/** The chosen columns that there still are, in the order of the fields; the title is always among them. */
export function chosenColumns(
  kind: Pick<DeclaredKind, 'fields' | 'title'>,
  chosen: readonly string[] | null,
): DeclaredField[] {
  const names = new Set([kind.title, ...(chosen ?? usualColumns(kind))]);
  const title = kind.fields.filter(({ name }) => name === kind.title);
  return [...title, ...kind.fields.filter(({ name }) => name !== kind.title && names.has(name))];
}
