/** The vertical that the benchmarks run. `bare-notes.ts` has the same SQL without us. */
import type { OperationStub, PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { type NodeEngine, type NodeEngineOptions, openNodeEngine } from '@freehold/engine-node';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  type OperationContext,
  operation,
  type ScopeHost,
  type ScopeStub,
  type ScopeUnit,
} from '@freehold/kernel';
import { z } from 'zod';

export const scopeIdOf = (n: number): ScopeId => `scp_0${String(n).padStart(25, '0')}` as ScopeId;
export const tenantId = 'tnt_01arz3ndektsv4rrffq69g5fav' as TenantId;
export const principal = 'prn_01arz3ndektsv4rrffq69g5fav' as PrincipalId;

const text = z.string().max(200);

function writeNote(ctx: OperationContext, text: string): { note: string } {
  const note = ctx.newId('not');
  ctx.sql.run('INSERT INTO notes (id, text) VALUES (?, ?)', note, text);
  ctx.emit({ type: 'note.written', entity: { type: 'note', id: note }, payload: { length: text.length } });
  return { note };
}

const notes = {
  manifest: {
    slug: 'bench',
    name: 'Bench',
    version: '1.0.0',
    permissions: { 'note.write': 'writing notes', 'note.index': 'indexing notes' },
    roles: { writer: { name: 'Writer', permissions: ['note.write'] } },
    services: { indexer: { name: 'Indexer', permissions: ['note.index'] } },
    ownerRole: 'writer',
    entities: { note: {} },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'notes',
      sql: `CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE indexed (note TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
    },
  ],
  operations: defineOperations({
    'note/write': operation({
      summary: 'Write a note',
      input: z.strictObject({ text }),
      output: z.strictObject({ note: z.string() }),
      permission: 'note.write',
      run: (ctx, { text }) => writeNote(ctx, text),
    }),
    'note/write-each': operation({
      summary: 'Write notes, each by an invocation of its own',
      input: z.strictObject({ texts: z.array(text) }),
      output: z.strictObject({ written: z.int() }),
      permission: 'note.write',
      run: (ctx, { texts }) => {
        for (const text of texts) ctx.invoke('note/write', { text });
        return { written: texts.length };
      },
    }),
    'note/write-many': operation({
      summary: 'Write many notes at once',
      input: z.strictObject({ text, times: z.int() }),
      output: z.strictObject({ written: z.int() }),
      permission: 'note.write',
      run: (ctx, { text, times }) => {
        for (let i = 0; i < times; i++) writeNote(ctx, text);
        return { written: times };
      },
    }),
    'note/index': operation({
      summary: 'Index a note that was written',
      input: z.strictObject({ note: z.string() }),
      output: z.null(),
      permission: 'note.index',
      run: (ctx, { note }) => {
        ctx.sql.run('INSERT INTO indexed (note) VALUES (?)', note);
        return null;
      },
    }),
  }),
} satisfies Parameters<typeof defineVertical>[0];

const vertical = defineVertical(notes);
/** The same, where each note is indexed afterwards. */
const indexing = defineVertical({
  ...notes,
  subscriptions: {
    index: {
      on: ['note.written'],
      as: 'indexer',
      operation: 'note/index',
      input: ({ entity }) => ({ note: entity?.id }),
    },
  },
});

export interface Notes {
  readonly engine: NodeEngine;
  readonly unit: ScopeUnit;
  readonly host: ScopeHost;
  /** The provisioned scope. */
  readonly scope: ScopeStub;
  /** The scope as the principal who may write notes. */
  readonly stub: OperationStub;
  readonly operations: typeof notes.operations;
}

export interface NotesOptions extends Partial<Omit<NodeEngineOptions, 'dataDirectory' | 'onIncident'>> {
  /** Whether each note is indexed by a subscription. Default false. */
  readonly indexing?: boolean;
}

/** Opens a host of notes without any scope. */
export function openHost(
  dataDirectory: string,
  { indexing: isIndexing = false, ...options }: NotesOptions = {},
): Pick<Notes, 'engine' | 'unit' | 'host'> {
  const engine = openNodeEngine({ dataDirectory, onIncident: (error) => console.error(error), ...options });
  const unit = makeScopeUnit(isIndexing ? indexing : vertical);
  return { engine, unit, host: makeScopeHost({ engine, unit }) };
}

/** Opens one provisioned scope with a principal who may write notes. */
export async function openNotes(dataDirectory: string, options?: NotesOptions): Promise<Notes> {
  const opened = openHost(dataDirectory, options);
  const { host } = opened;
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Bench' });
  await host.scope(scopeId).assignRole({ principal, role: 'writer', by: 'platform' });
  return {
    ...opened,
    scope: host.scope(scopeId),
    stub: host.operations(scopeId, principal),
    operations: vertical.operations as typeof notes.operations,
  };
}
