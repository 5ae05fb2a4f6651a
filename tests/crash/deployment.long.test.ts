/**
 * SIGKILL at every step of a deployment, a promotion, a wave and a step back: of the platform, of the processes of its
 * verticals, of both. What is there afterwards is the state before or the state after, every instance answers with its data
 * by a version that knows its database, and the same call once more ends where it would have ended.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeBundles } from './deployment/bundles.ts';
import { type Look, type Said, type Stage, stages, type Victims } from './deployment/stages.ts';

/** The most kills of one stage, spread over its steps; with `CRASH_CUTS=1000`, one at each step. */
const CUTS = Number(process.env.CRASH_CUTS ?? 8);
const TENANTS = ['acme', 'bolt', 'cone'];

let root: string;
/** Stage → the place before it, and the number of its steps. */
const before = new Map<Stage, { readonly place: string; readonly points: number }>();

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'freehold-deployment-'));
  mkdirSync(join(root, 'bin'));
  // Without setpriv, which lets its processes die with the platform.
  symlinkSync('/usr/bin/prlimit', join(root, 'bin/prlimit'));
  let place = newPlace();
  await writeBundles(place);
  let hasScopes: boolean | null = null;
  for (const stage of stages) {
    if (stage.scopes !== hasScopes) await child(place, 'prepare', stage);
    hasScopes = stage.scopes;
    const next = newPlace(place);
    const over = saidOver(await child(next, 'run', stage));
    expect(over.refused).toBe(null);
    before.set(stage, { place, points: over.points });
    place = next;
  }
}, 300_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

const all = stages.flatMap((stage) =>
  (['platform', 'processes', 'both'] as const).map((victims) => ({ stage, victims, title: stage.title })),
);

test.each(all)('$title: $victims', { timeout: 1_800_000 }, async ({ stage, victims }) => {
  const { place: template, points } = before.get(stage) as { place: string; points: number };
  const cuts = Math.min(CUTS, points);
  const faults: string[] = [];
  for (let cut = 0; cut < cuts; cut++) {
    const point = 1 + Math.floor((cut * points) / cuts);
    const place = newPlace(template);
    const said = await child(place, 'run', stage, point, victims);
    const isSurvivor = victims === 'processes';
    // Two runs of the same work may differ by a step or two.
    if (!isSurvivor && said.some(({ t }) => t === 'over') && point < points - 5)
      faults.push(`${point}: it was not killed`);
    const judged = await child(place, 'judge', stage);
    faults.push(...faultsOf(stage, judged).map((fault) => `${point}: ${fault}`));
    rmSync(place, { recursive: true, force: true });
  }
  expect(faults).toEqual([]);
  expect(cuts).toBeGreaterThan(3);
});

function faultsOf(stage: Stage, said: readonly Said[]): string[] {
  const looks = said.flatMap((each) => (each.t === 'look' ? [each] : []));
  const left = looks.find(({ when }) => when === 'before')?.look;
  const ended = looks.find(({ when }) => when === 'after')?.look;
  const repeated = said.find(({ t }) => t === 'repeated') as { refused: string | null } | undefined;
  const verdict = said.find(({ t }) => t === 'verdict') as { status: string } | undefined;
  if (!left || !ended) return [`it was not judged: ${JSON.stringify(said)}`];
  return [
    ...faultsOfLook(stage, left, 'left').map((fault) => `left: ${fault}`),
    ...(repeated?.refused === null ? [] : [`made again, it was refused: ${repeated?.refused}`]),
    ...faultsOfLook(stage, ended, 'ended').map((fault) => `ended: ${fault}`),
    ...(verdict?.status === 'ok' ? [] : ['the chain of the log is broken']),
  ];
}

/** @param at `ended`: after the call was made again. */
function faultsOfLook(stage: Stage, look: Look, at: 'left' | 'ended'): string[] {
  const [servedBefore, serves] = stage.serves;
  const [ranBefore, runs] = stage.runs;
  const may = (was: string | null, is: string | null) => (at === 'ended' ? [is] : [was, is]);
  const faults: string[] = [];
  if (!may(servedBefore, serves).includes(look.registered))
    faults.push(`${look.registered} is registered as serving`);
  if (!may(servedBefore, serves).includes(look.serving)) faults.push(`${look.serving} serves`);
  if (look.registered !== look.serving && look.openIntents === 0)
    faults.push(`${look.registered} is registered as serving, and ${look.serving} serves`);
  if (at === 'ended' && look.openIntents > 0) faults.push('an outcome stays unknown');
  if (look.serving !== null && !look.uploaded.includes(look.serving) && look.openIntents === 0)
    faults.push(`${look.serving} serves, and was not uploaded`);
  if (at === 'ended' && !look.uploaded.includes(stage.version)) faults.push(`${stage.version} is not there`);
  for (const tenant of stage.scopes ? TENANTS : []) {
    const scope = look.scopes[tenant];
    if (!scope) {
      faults.push(`${tenant} is gone`);
      continue;
    }
    if (!may(ranBefore, runs).includes(scope.version)) faults.push(`${tenant} runs ${scope.version}`);
    // A version that does not know the migration would not open the database.
    if (scope.migrated !== (scope.version !== '1.0.0'))
      faults.push(`${tenant} runs ${scope.version}, migrated: ${scope.migrated}`);
    if (scope.notes.join() !== tenant) faults.push(`${tenant} has the notes ${scope.notes}`);
    if (scope.migrated && !scope.snapshots.includes('before 2.0.0'))
      faults.push(`${tenant} was migrated without a snapshot`);
  }
  return faults;
}

function saidOver(said: readonly Said[]) {
  const over = said.find((each) => each.t === 'over');
  if (over?.t !== 'over') throw new Error(`the stage did not end: ${JSON.stringify(said)}`);
  return over;
}

/** A new place, with what is in another one, but not its sockets. */
function newPlace(of?: string): string {
  const place = mkdtempSync(join(root, 'place-'));
  if (of !== undefined) cpSync(of, place, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return place;
}

/** Runs a task to its end, or to its death by SIGKILL. */
async function child(
  place: string,
  task: 'prepare' | 'run' | 'judge',
  stage: Stage,
  killAt = Number.POSITIVE_INFINITY,
  victims: Victims = 'platform',
): Promise<readonly Said[]> {
  const program = join(import.meta.dirname, 'deployment-child.ts');
  // Its processes outlive a platform that is killed alone.
  const path = task === 'run' && victims === 'platform' ? join(root, 'bin') : process.env.PATH;
  const started = spawn(process.execPath, [program, place, task, stage.title, String(killAt), victims], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: path },
  });
  let out = '';
  let errors = '';
  started.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  started.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')));
  const timer = setTimeout(() => started.kill('SIGTERM'), 120_000);
  // An orphan holds the pipes open.
  await new Promise((resolve) => started.once('exit', resolve));
  clearTimeout(timer);
  await new Promise((resolve) => setImmediate(resolve));
  const { exitCode, signalCode } = started;
  if (exitCode !== 0 && !(task === 'run' && signalCode === 'SIGKILL'))
    throw new Error(`${task} of ${stage.title} ended with ${signalCode ?? exitCode}:\n${errors}\n${out}`);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Said);
}
