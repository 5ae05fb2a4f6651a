/** A vertical acts with the grant for what it calls, whatever kind of call that is, and with no other (spec 4.3). */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnit, type UnitContext } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../../../engine-node/src/index.ts';
import { adminOperations } from '../admin-operations.ts';
import { beginEffect } from '../changes/changes.ts';
import type { DelegatedHandler, LongHandler, WiringFacts } from '../lib/handlers.ts';
import { longWorkMethods } from '../long-work/work.ts';
import { saveGrant } from '../platform-grants/store.ts';
import { directoryUnit } from '../unit.ts';
import type { AdminCall } from './actors.ts';

/** A caller that gets this far was admitted. */
const reached = (): never => {
  throw new TypeError('reached the handler');
};
const operation = adminOperations['tenants.create'];
const delegated = { operation, begin: reached } as unknown as DelegatedHandler;
const long = { operation, begin: reached, plan: reached } as unknown as LongHandler;

const outcomeOf = (work: () => unknown): string => {
  try {
    work();
    return 'done';
  } catch (error) {
    const { reason, message } = error as { readonly reason?: string; readonly message: string };
    return reason ?? message;
  }
};

/** The declared grant of this operation is what counts; its handlers here are of every kind. */
const OPERATION = operation.name;

const methods = (context: UnitContext) => {
  const work = longWorkMethods(context, { [OPERATION]: long });
  const callOf = (slug: string): AdminCall => ({
    operation: OPERATION,
    params: {},
    query: {},
    body: {},
    actor: { kind: 'vertical', id: slug, name: slug },
    requestId: 'req-1',
  });
  return {
    grant: ({ slug }: { readonly slug: string }): null => {
      context.db.run(
        `INSERT INTO verticals (slug, name, tier, promotion, revision, created_at, updated_at)
         VALUES (?1, ?1, 'private', 0, 1, 1, 1)`,
        slug,
      );
      const name = 'tenant-provisioner';
      saveGrant(context.db, { vertical: slug, name, note: null, revision: 1, sinceMs: 1 });
      return null;
    },
    outcomes: ({ slug }: { readonly slug: string }): Record<string, string> => {
      const input = { call: callOf(slug), facts: {} as WiringFacts };
      return {
        effect: outcomeOf(() => beginEffect(context, delegated, input)),
        work: outcomeOf(() => work.beginWork(input)),
        plan: outcomeOf(() => work.planWork(input)),
      };
    },
  };
};

test('one with the grant comes as far as its handler, and one without it does not', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-acting-'));
  const onIncident = (error: unknown): never => {
    throw error;
  };
  const engine = openNodeEngine({ dataDirectory, now: () => 1_000, random: randomBytes, onIncident });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  const { migrations } = directoryUnit;
  const probe = defineUnit({ kind: 'probe', migrations, queries: [], open: methods });
  const unit = engine.unit(probe, 'main', { create: true });
  await unit.grant({ slug: 'provisioner' });
  const all = (outcome: string) => ({ effect: outcome, work: outcome, plan: outcome });
  expect(await unit.outcomes({ slug: 'provisioner' })).toEqual(all('reached the handler'));
  expect(await unit.outcomes({ slug: 'stranger' })).toEqual(all('not_granted'));
});
