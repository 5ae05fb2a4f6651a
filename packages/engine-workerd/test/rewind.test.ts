/** Rewinds over a simulated history: the engine's use of one, and its closing of the object. */
import { abortAllDurableObjects } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeScopeHost, makeUnitVault } from '../../kernel/src/index.ts';
import { libraryUnit, libraryVaultUnit, observed } from '../../testkit/src/scope-contract/index.ts';
import { rewindContract } from '../../testkit/src/scope-contract/rewind.ts';
import { newScopeId, openLibrary, tenant } from '../../testkit/src/scope-contract/world.ts';
import { ahead, openScopeEngine, scopeNow } from './worker.ts';

const setup = {
  name: 'engine-workerd with a history',
  capabilities: {
    copies: ['ndjson'],
    rewind: true,
    inspect: true,
    attachments: { missing: 'it is not asked' },
  },
  open: async () => {
    const openHost = () => {
      const engine = openScopeEngine(env.HISTORIC);
      return makeScopeHost({
        engine,
        unit: libraryUnit,
        now: scopeNow,
        vault: makeUnitVault((id) => engine.unit(libraryVaultUnit, id, { create: true })),
      });
    };
    return {
      host: openHost(),
      pass: async (ms: number) => {
        ahead.ms += ms;
      },
      reopen: async () => {
        await abortAllDurableObjects();
        return openHost();
      },
    };
  },
} as const;

beforeEach(() => {
  observed.incidents.length = 0;
});

describe(`the contract of scopes on ${setup.name}`, () => {
  rewindContract(setup);
});

describe('an object that goes back in time', () => {
  const openBack = async () => {
    const opened = await openLibrary(setup, { tenantId: tenant, scopeId: newScopeId() });
    await opened.add('one');
    const { current } = await opened.host.migrationBookmarksLocal({ ...opened.ref, limit: 1 });
    await opened.pass(5);
    await opened.add('two');
    const tools = openScopeEngine(env.HISTORIC).tools(libraryUnit, opened.ref.scopeId);
    return { ...opened, tools, bookmark: current?.bookmark as string };
  };

  test('answers no caller until the older state was admitted, also after it died', async () => {
    const { tools, bookmark, count, host, ref } = await openBack();
    const closed = { code: 'unavailable', reason: 'being_rewound' };
    let seen: unknown;
    const refusing = tools.rewind({ bookmark }, () => {
      seen = count('books').catch((error: unknown) => error);
      throw new Error('the judge is gone');
    });
    // The object gets the refusal, and goes forward again.
    await expect(refusing).rejects.toThrow('the judge is gone');
    expect(await seen).toMatchObject(closed);
    expect(await count('books')).toEqual([2]);

    // The judge died on the way: its verdict never comes.
    const object = env.HISTORIC.getByName(ref.scopeId);
    await object.tool('rewind', { target: { bookmark } });
    await object.tool('leave', undefined).catch(() => undefined);
    await expect(count('books')).rejects.toMatchObject(closed);
    await abortAllDurableObjects();
    await expect(count('books')).rejects.toMatchObject(closed);
    await expect(host.exportScopeLocal({ ...ref, format: 'ndjson' })).rejects.toMatchObject(closed);
    // Until an operator rewinds it once more.
    await tools.rewind({ bookmark });
    expect(await count('books')).toEqual([1]);
  });

  test('is changed by its judges before any caller sees it', async () => {
    const { tools, bookmark, scope, count } = await openBack();
    await tools.rewind({ bookmark }, (staged) => {
      const book = staged.get<{ id: string }>('SELECT id FROM books');
      staged.run('UPDATE books SET title = ? WHERE id = ?', 'judged', book?.id ?? '');
    });
    expect(await count('books')).toEqual([1]);
    const { rows } = await scope.table({ table: 'books', filters: [], order: 'asc', limit: 5 });
    expect(rows).toMatchObject([[expect.any(String), 'judged', 'here']]);
  });
});
