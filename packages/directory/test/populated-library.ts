/** The library with enough in it that every read of the data window has something to leave out: two days of it. */
import type { ActorId, EventId, EventRecord, PrincipalId } from '@freehold/contracts';
import { ANONYMOUS, LIBRARIAN, type LibraryPlatform, openLibraryPlatform } from './library-platform.ts';

export const CLERK = 'prn_01j00000000000000000000002' as PrincipalId;
const DAY_MS = 86_400_000;
/** Longer than a failed delivery waits before it is tried again. */
const RETRY_MS = 1_300;

export interface PopulatedLibrary extends LibraryPlatform {
  /** A book that was added and lent three times. */
  readonly book: string;
  /** Its second loan, which set off two more events. */
  readonly lent: EventRecord;
  /** The effects of a loan. */
  readonly written: EventRecord;
  /** When the second day began. */
  readonly secondDay: string;
}

export async function openPopulatedLibrary(): Promise<PopulatedLibrary> {
  const opened = await openLibraryPlatform('bound');
  const { stub, invoke, clock } = opened;
  await stub.assignRole({ principal: CLERK, role: 'clerk', by: 'platform' });
  const act = async <T>(who: ActorId, operation: string, input: unknown): Promise<T> => {
    clock.ms += 10;
    return (await invoke(who as PrincipalId, operation, input)).output as T;
  };
  const refused = (who: ActorId, operation: string, input: unknown) =>
    act(who, operation, input).then(
      () => Promise.reject(new Error(`${operation} was not refused`)),
      () => undefined,
    );
  const add = async (who: ActorId, title: string) =>
    (await act<{ book: string }>(who, 'book/add', { title })).book;

  const book = await add(LIBRARIAN, 'Emma');
  await add(CLERK, 'Sanditon');
  for (let i = 0; i < 2; i++) await act(LIBRARIAN, 'book/lend', { book });
  await act(LIBRARIAN, 'reader/note', { reader: 'rdr_ada', text: 'Prefers large print' });
  await act(LIBRARIAN, 'test/sql', {
    sql: `INSERT INTO loose (n, value) VALUES (1, 'ax'), (2, 'bx'), (3, NULL), (4, 'ay'), (5, 'az'), (6, 'bz')`,
    how: 'run',
  });
  await refused(ANONYMOUS, 'book/add', { title: 'x' });
  await refused(ANONYMOUS, 'book/read', { book });

  clock.ms += DAY_MS;
  const secondDay = new Date(clock.ms).toISOString();
  for (let i = 0; i < 2; i++) {
    const poison = await add(CLERK, 'poison');
    await act(LIBRARIAN, 'book/lend', { book: poison });
  }
  await act(LIBRARIAN, 'book/lend', { book });
  await refused(CLERK, 'reader/note', { reader: 'rdr_bob', text: 'x' });
  for (let i = 0; i < 2; i++) await refused(ANONYMOUS, 'book/add', { title: 'y' });
  for (const kind of ['mail', 'print']) await act(LIBRARIAN, 'platform/ask', { kind });
  await giveUp(opened);

  const eventsOf = async (type: string, id: string) =>
    (await stub.history({ entity: { type, id }, limit: 9 })).items;
  const lent = (await eventsOf('book', book))[2] as EventRecord;
  const [written] = (await stub.effects({ event: lent.id })).items;
  return { ...opened, book, lent, written: written as EventRecord, secondDay };
}

/** Works until both kinds of listener have dead letters: the executor of the library is always told of a failure. */
async function giveUp({ stub, clock }: LibraryPlatform): Promise<void> {
  for (let round = 0; round < 12; round++) {
    const { claimed } = await stub.work({});
    for (const { subscriber, event, claim } of claimed)
      await stub.settle({
        subscriber,
        event: event.id as EventId,
        claim,
        error: { code: 'unavailable', detail: 'The line is down.' },
      });
    clock.ms += RETRY_MS;
  }
}
