/**
 * SIGKILL during every kind of mutation of the control plane: afterwards a mutation and its row of the admin log are
 * both there or both absent, and journaled work continues to its end. The real host administration, over the real
 * engine and real applications, dies at a step that a seed chooses, so the speed of the machine does not matter.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { adminOperations } from '../../packages/directory/src/admin-operations.ts';
import { acts, isAct } from './administration/acts.ts';
import { alone, deeds, notActs, sweeps } from './administration/deeds/index.ts';
import {
  callsOf,
  faultsOf,
  isThere,
  type JudgedCall,
  loggedActions,
  openIntents,
} from './administration/judge.ts';
import { startVictim, type Victim } from './administration/process.ts';
import type { DeedName, Line } from './administration/protocol.ts';
import { seeded } from './seeded.ts';

/** The least number of kills; more follow until every kind of mutation was interrupted once. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 8);
/** The number of mutations that run when it dies. */
const BATCH = 16;
/** The assumed number of steps in a batch, until one batch has run to its end. */
const STEPS = 800;

/** The number of interruptions of each act, spread over its steps. */
const CUTS = process.env.FREEHOLD_LONG ? 5 : 2;
/** The files that write rows of the admin log. */
const DIRECTORY = join(import.meta.dirname, '../../packages/directory/src');

const names = Object.keys(deeds) as DeedName[];
const apart: ReadonlySet<string> = new Set([...alone, ...sweeps]);
const kinds = names.filter((name) => !apart.has(name));
/** Acts that run side by side, and are interrupted more than once. */
const stepwise = [
  ...sweeps.map((name) => ({ title: name, group: [name] })),
  { title: 'what is no operation', group: names.filter(isAct).filter((name) => !apart.has(name)) },
];

test('every audited operation is made here', () => {
  const audited = Object.values(adminOperations).filter(({ audit }) => audit === 'audit');
  const made = names.filter((name) => !isAct(name));
  expect(made.sort()).toEqual(audited.map(({ name }) => name).sort());
});

test('every other action of the admin log is made here, or is listed with the reason', () => {
  expect(names.filter(isAct).sort()).toEqual(Object.keys(acts).sort());
  const made = Object.values(acts).flatMap(({ action, writer }) => (writer ? [`${writer}: ${action}`] : []));
  expect([...new Set(made), ...Object.keys(notActs)].sort()).toEqual(actionsInSource());
});

test('a killed mutation and its row of the log are both there or both absent, for every kind', async () => {
  const place = newPlace();
  const random = seeded(Number(process.env.CRASH_SEED ?? 1));
  const left = shuffled(kinds, random);
  const tries = new Map<DeedName, number>();
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
    // A kind that was too quick is interrupted earlier the next time, in the end at its first step.
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
  const known = new Set<string>(names.map((name) => (isAct(name) ? acts[name].action : name)));
  expect(loggedActions(place).filter((action) => !known.has(action))).toEqual([]);
  await victim.carryOut({ do: 'stop' });
});

test.each(stepwise)(
  'an act that is interrupted at any step is done, or is resumed: $title',
  async ({ group }) => {
    const place = newPlace();
    const random = seeded(Number(process.env.CRASH_SEED ?? 1));
    let victim = await startVictim(place);
    let steps = STEPS;
    let cuts = 0;
    let leftOpen = 0;
    // The first run is complete, and gives the number of steps.
    for (let round = 0; round <= CUTS; round++) {
      const killAt = round === 0 ? STEPS : 1 + Math.floor((steps * (round - 1 + random())) / CUTS);
      const survived = await victim.carryOut({ do: 'load', round: `r${round}`, deeds: group, killAt });
      if (!survived) await victim.kill();
      const lines = withoutTrouble(victim.take());
      const calls = callsOf(lines);
      expect(
        faultsOf(
          place,
          calls.filter(({ concluded }) => concluded),
        ),
      ).toEqual([]);
      if (survived) {
        steps = Math.max(...lines.map((line) => (line.t === 'over' ? line.points : 1)));
        continue;
      }
      const cutOff = calls.filter(({ concluded }) => !concluded);
      cuts += cutOff.length;
      victim = await startVictim(place);
      leftOpen += openIntents(place).length;
      await settle(place, victim, cutOff);
    }
    expect(leftOpen > 0).toBe(group.includes('backups.expire'));
    expect(cuts).toBeGreaterThanOrEqual(CUTS - 1);
    await victim.carryOut({ do: 'stop' });
  },
);

test('a killed restore of the directory was done, or changed nothing', async () => {
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
 * Judges the interrupted calls as the next process finds them, and repeats them as their callers would: each must then
 * end, and no outcome may stay unknown.
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

/** The valid answers to a repeated call: it succeeds, or it was done before. */
function faultsOfRepeat(
  place: string,
  { request, call, effect }: JudgedCall,
  repeated: readonly JudgedCall[],
): string[] {
  const again = repeated.find((each) => each.request === `${request}-again`);
  const words = `${call.operation} (${request}), made again`;
  if (!again?.concluded) return [`${words}, was not answered`];
  const reason = again.refused?.reason;
  // The answer held a secret, or the operation to cancel has ended meanwhile.
  if (reason === 'not_cancellable' && call.operation === 'operations.cancel') return [];
  if (reason !== undefined && reason !== 'secret_shown_once')
    return [`${words}, was refused: ${again.refused?.message}`];
  // A call that only prepares another one may have been cancelled by it.
  if (again.ended === 'cancelled' && effect === null) return [];
  const isGivenUp = again.ended === 'failed' && call.operation === 'scopes.restore';
  if (again.ended !== null && again.ended !== 'done' && !isGivenUp) return [`${words}, is ${again.ended}`];
  return isGivenUp || effect === null || isThere(place, effect) ? [] : [`${words}, had no effect`];
}

/** Returns `file: action` for every row that the files write. Operations name their action in their declaration. */
function actionsInSource(): string[] {
  const writes = /appendAdminLog|logEnd|logDone|AuditedCall|byMember/;
  return globSync('**/*.ts', { cwd: DIRECTORY })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => {
      // The name in a declaration is no row.
      const text = readFileSync(join(DIRECTORY, file), 'utf8').replaceAll(/^ {2}name: '[^']+',$/gm, '');
      const found = writes.test(text) ? text.matchAll(/'([a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*)'/g) : [];
      return [...new Set([...found].map(([, action]) => `${file}: ${action}`))];
    })
    .sort();
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
