/** The check of the present state in the step that replaces it, and a hold of rights that ends by itself. */
import { env } from 'cloudflare:workers';
import type { PrincipalId } from '@freehold/contracts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeScopeHost } from '../../kernel/src/index.ts';
import { HOLD_MS } from '../../kernel/src/permissions/present-rights.ts';
import { libraryUnit, observed } from '../../testkit/src/scope-contract/index.ts';
import { clerk, newScopeId, openLibrary, tenant } from '../../testkit/src/scope-contract/world.ts';
import { makeUnitTools, type ToolOutcome } from '../src/tools/unit-tools.ts';
import { ahead, openScopeEngine, scopeNow } from './worker.ts';

beforeEach(() => {
  observed.incidents.length = 0;
});
afterEach(() => {
  ahead.ms = 0;
});

/** Changes something directly before the object gets the message that replaces its state. */
type Before = { run: (tool: string) => Promise<void> };

/** A library with a copy and a moment of when the clerk was a clerk, which the clerk still is. */
async function openWorld() {
  const before: Before = { run: async () => undefined };
  const engine = openScopeEngine(env.HISTORIC);
  const host = makeScopeHost({
    engine: {
      ...engine,
      tools: (_, key) => {
        return makeUnitTools(
          async (tool, input) => {
            await before.run(tool);
            return (await env.HISTORIC.getByName(key).tool(tool, input)) as ToolOutcome;
          },
          { newId: () => crypto.randomUUID() },
        );
      },
    },
    unit: libraryUnit,
    now: scopeNow,
  });
  const setup = {
    open: async () => ({
      host,
      pass: async (ms: number) => {
        ahead.ms += ms;
      },
      reopen: async () => host,
    }),
  };
  const library = await openLibrary(setup, { tenantId: tenant, scopeId: newScopeId() });
  await library.add('in the copy');
  const { body } = await host.exportScopeLocal({ ...library.ref, format: 'ndjson' });
  const copy = await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
  const { current } = await host.migrationBookmarksLocal({ ...library.ref, limit: 1 });
  await library.pass(5);
  await library.add('since');
  const rolesOf = async (who: PrincipalId) =>
    (await library.scope.assignments({})).filter(({ principal }) => principal === who).length;
  // Another caller of the same object, as in another isolate.
  const elsewhere = makeScopeHost({ engine, unit: libraryUnit, now: scopeNow }).scope(library.ref.scopeId);
  const lower = () => elsewhere.setRoles({ principal: clerk, roles: [], by: 'platform' });
  const replace = {
    restore: () =>
      host.restoreScopeLocal({ ...library.ref, format: 'ndjson' }, new Blob([copy]).stream() as never),
    rewind: () => host.rewindScopeLocal({ ...library.ref, bookmark: current?.bookmark as string }),
  };
  return { ...library, before, elsewhere, rolesOf, lower, replace };
}

test.each(['restore', 'rewind'] as const)(
  'a role that is taken between the check and the swap of a %s is not given back, though nothing held it',
  async (way) => {
    const { elsewhere, before, rolesOf, lower, replace, count } = await openWorld();
    let swaps = 0;
    before.run = async (tool) => {
      if (tool !== way) return;
      swaps += 1;
      // As a lease that ended, or an object that died and was started anew.
      await elsewhere.holdRights({ known: null });
      await lower();
    };
    await expect(replace[way]()).rejects.toMatchObject({ code: 'conflict', reason: 'rights_changed' });
    expect([swaps, await rolesOf(clerk), await count('books')]).toEqual([1, 0, [2]]);
    // Nothing is left closed, and the rights of now are those that the next one keeps.
    before.run = async () => undefined;
    await replace[way]();
    expect([await rolesOf(clerk), await count('books')]).toEqual([0, [1]]);
  },
);

test('a rewind to a moment that is unknown leaves the object open', async () => {
  const { host, ref, count, lower, rolesOf } = await openWorld();
  const refused = host.rewindScopeLocal({ ...ref, bookmark: '99999999' });
  await expect(refused).rejects.toMatchObject({ reason: 'unknown_bookmark' });
  expect(await count('books')).toEqual([2]);
  await lower();
  expect(await rolesOf(clerk)).toBe(0);
});

test('a hold of rights whose holder died ends by itself', async () => {
  const { scope, pass, lower, rolesOf } = await openWorld();
  expect(await scope.holdRights({ known: await scope.presentRights({}) })).toBe(true);
  await pass(HOLD_MS - 1_000);
  await expect(lower()).rejects.toMatchObject({ code: 'unavailable', reason: 'busy' });
  await pass(2_000);
  await lower();
  expect(await rolesOf(clerk)).toBe(0);
});
