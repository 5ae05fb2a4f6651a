/**
 * SIGKILL during every kind of mutation of the control plane: afterwards a mutation and its row of the admin log are both
 * there or both not, and journaled work goes on to its end. The real host administration, over the real engine and real
 * applications, dies at a step of its own that a seed chooses, so that nothing depends on how fast the machine is.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type AdminOperationName, adminOperations } from '../../packages/directory/src/declarations/index.ts';
import { alone, deeds, notMade } from './administration/deeds/index.ts';
import { callsOf, faultsOf, isThere, type JudgedCall, openIntents } from './administration/judge.ts';
import { startVictim, type Victim } from './administration/process.ts';
import type { Line } from './administration/protocol.ts';
import { seeded } from './seeded.ts';

/** At least so many kills; there are as many as it takes until every kind of mutation was cut off once. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 8);
/** Mutations that are under way when it dies. */
const BATCH = 16;
/** How many steps a batch has, until one has been seen to its end. */
const STEPS = 800;

const kinds = (Object.keys(deeds) as AdminOperationName[]).filter((name) => !alone.includes(name));

test('every audited operation is made here, or is listed with the reason', () => {
  const audited = Object.values(adminOperations).filter(({ audit }) => audit === 'audit');
  const names = audited.map(({ name }) => name).sort();
  expect([...Object.keys(deeds), ...Object.keys(notMade)].sort()).toEqual(names);
});

test('A killed mutation and its row of the log are both there or both not, whatever kind it is', async () => {
  const place = newPlace();
  const random = seeded(Number(process.env.CRASH_SEED ?? 1));
  const left = shuffled(kinds, random);
  const tries = new Map<AdminOperationName, number>();
  const all: JudgedCall[] = [];
  let cutOff: JudgedCall[] = [];
  let steps = STEPS;

  for (let round = 0; left.length > 0 || round < ROUNDS; round++) {
    const victim = await startVictim(place);
    await settle(place, victim, cutOff);
    const batch = [...left, ...shuffled(kinds, random).filter((name) => !left.includes(name))].slice(
      0,
      BATCH,
    );
    const hardest = Math.max(...batch.map((name) => tries.get(name) ?? 0));
    // Whatever was too quick to be cut off is cut off earlier the next time, in the end at its first step.
    const killAt = 1 + Math.floor((random() * steps) / 2 ** hardest);
    const survived = await victim.carryOut({ do: 'load', round: `r${round}`, deeds: batch, killAt });
    await victim.kill();
    const lines = withoutTrouble(victim.take());
    if (survived) steps = Math.max(...lines.map((line) => (line.t === 'over' ? line.points : 1)));
    const calls = callsOf(lines);
    all.push(...calls.filter(({ concluded }) => concluded));
    cutOff = calls.filter(({ concluded }) => !concluded);
    for (const { call } of cutOff) remove(left, call.operation);
    for (const name of batch) tries.set(name, (tries.get(name) ?? 0) + 1);
  }

  const victim = await startVictim(place);
  await settle(place, victim, cutOff);
  expect(faultsOf(place, all)).toEqual([]);
  await victim.carryOut({ do: 'stop' });
});

test('A killed restore of the directory was done, or changed nothing', async () => {
  const random = seeded(Number(process.env.CRASH_SEED ?? 1));
  let steps = 60;
  for (let round = 0; round < Math.max(2, ROUNDS / 10); round++) {
    const place = newPlace();
    const victim = await startVictim(place);
    const killAt = 1 + Math.floor(random() * steps);
    const survived = await victim.carryOut({ do: 'load', round: `r${round}`, deeds: alone, killAt });
    await victim.kill();
    const lines = withoutTrouble(victim.take());
    if (survived) steps = Math.max(...lines.map((line) => (line.t === 'over' ? line.points : 1)));
    const next = await startVictim(place);
    await settle(place, next, callsOf(lines));
    await next.carryOut({ do: 'stop' });
  }
});

/**
 * Judges what was cut off as the next process found it, and makes those calls again as their callers would: each then
 * comes to its end, and nothing is left that nobody knows the outcome of.
 */
async function settle(place: string, victim: Victim, cutOff: readonly JudgedCall[]): Promise<void> {
  withoutTrouble(victim.take());
  expect(faultsOf(place, cutOff)).toEqual([]);
  const calls = cutOff.map(({ request, call }) => ({ of: request, call }));
  await victim.carryOut({ do: 'repeat', calls });
  const repeated = callsOf(withoutTrouble(victim.take()));
  expect(cutOff.flatMap((call) => faultsOfRepeat(place, call, repeated))).toEqual([]);
  expect(openIntents(place)).toEqual([]);
  await victim.carryOut({ do: 'verify' });
  expect(withoutTrouble(victim.take())).toContainEqual({ t: 'verdict', status: 'ok', firstBad: null });
}

/** What a caller who was cut off may be told by the same call: that it is done, or that it was. */
function faultsOfRepeat(
  place: string,
  { request, call, effect }: JudgedCall,
  repeated: readonly JudgedCall[],
): string[] {
  const again = repeated.find((each) => each.request === `${request}-again`);
  const words = `${call.operation} (${request}), made again`;
  if (!again?.concluded) return [`${words}, was not answered`];
  const reason = again.refused?.reason;
  // Its answer held a secret, and what was to be cancelled has ended meanwhile.
  if (reason === 'not_cancellable' && call.operation === 'operations.cancel') return [];
  if (reason !== undefined && reason !== 'secret_shown_once')
    return [`${words}, was refused: ${again.refused?.message}`];
  // What only prepared another call may have been cancelled by it.
  if (again.ended === 'cancelled' && effect === null) return [];
  const isGivenUp = again.ended === 'failed' && call.operation === 'scopes.restore';
  if (again.ended !== null && again.ended !== 'done' && !isGivenUp) return [`${words}, is ${again.ended}`];
  return isGivenUp || effect === null || isThere(place, effect) ? [] : [`${words}, had no effect`];
}

function withoutTrouble(lines: readonly Line[]): readonly Line[] {
  expect(lines.filter(({ t }) => t === 'trouble')).toEqual([]);
  return lines;
}

function newPlace(): string {
  const place = mkdtempSync(join(tmpdir(), 'freehold-crash-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  return place;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function remove<T>(items: T[], item: T): void {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
}
