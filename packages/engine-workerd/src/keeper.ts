/** The keeper: a second object that remembers a rewind, which the object itself forgets when its storage goes back. */
import { fromFailure } from '@freehold/contracts';
import type { Keeper, Ticket } from './tools/history.ts';
import type { ToolOutcome } from './tools/unit-tools.ts';

const TICKET = 'freehold/ticket';

/** Returns the name of a unit's keeper. It is no unit's key, because of its colon. */
export function keeperName(key: string): string {
  return `rewind:${key}`;
}

/** The methods of a keeper. */
export function keeperMethods(kv: SyncKvStorage) {
  return {
    ticket: (): Ticket | null => kv.get<Ticket>(TICKET) ?? null,
    saveTicket: (ticket: Ticket): void => kv.put(TICKET, ticket),
    dropTicket: (): void => void kv.delete(TICKET),
  };
}

/** The parts of a namespace through which a keeper is reached. */
interface KeeperNamespace {
  getByName(name: string): { tool(tool: string, input: unknown): Promise<ToolOutcome> };
}

/** Returns a unit's keeper, for the unit's own object. */
export function keeperOf(
  namespace: KeeperNamespace,
  key: string,
): Keeper & { find(): Promise<Ticket | null> } {
  const ask = async (tool: keyof ReturnType<typeof keeperMethods>, input?: Ticket): Promise<unknown> => {
    const outcome = await namespace.getByName(keeperName(key)).tool(tool, input);
    if (!outcome.ok) throw fromFailure(outcome.failure);
    return outcome.value;
  };
  return {
    find: async () => (await ask('ticket')) as Ticket | null,
    save: async (ticket) => void (await ask('saveTicket', ticket)),
    drop: async () => void (await ask('dropTicket')),
  };
}
