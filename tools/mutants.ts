/**
 * `npm run mutants`: applies each mutant of tests/mutants, runs the test that should kill it, and puts the file back.
 * Fails unless every mutant is killed. See docs/mutants.md.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AREAS } from '../tests/mutants/index.ts';
import type { Mutant } from '../tests/mutants/mutant.ts';
import { broken, endTests, judge, type Report, runTests, type Verdict } from './killer.ts';
import { root } from './run.ts';

interface Outcome extends Verdict {
  readonly mutant: Mutant;
}

const { values } = parseArgs({
  options: {
    area: { type: 'string', multiple: true, default: [] },
    id: { type: 'string', multiple: true, default: [] },
    check: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    force: { type: 'boolean', default: false },
    timeout: { type: 'string', default: '180' },
  },
});
const timeoutMs = Number(values.timeout) * 1000;
const requirements = readFileSync(join(root, 'docs/spec/requirements.md'), 'utf8');

/** The file that is changed at this moment, and its true bytes. */
let changed: { readonly path: string; readonly bytes: Buffer } | null = null;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    endTests();
    restore();
    process.exit(130);
  });
}
process.on('exit', restore);

const selected = select();
requireCleanTree(selected);
const outcomes: Outcome[] = [];
for (const group of byKiller(selected)) await runGroup(group);
summarize();

/** The mutants that the options name: all of them, or those of an area, or single ones. */
function select(): readonly Mutant[] {
  const unknown = values.area.filter((area) => !(area in AREAS));
  if (unknown.length > 0) stop(`No area ${unknown.join(', ')}. There are: ${Object.keys(AREAS).join(', ')}.`);
  const all = Object.entries(AREAS)
    .filter(([area]) => values.area.length === 0 || values.area.includes(area))
    .flatMap(([, mutants]) => mutants);
  const twice = all.filter(({ id }, index) => all.findIndex((other) => other.id === id) !== index);
  if (twice.length > 0) stop(`These ids stand twice: ${twice.map(({ id }) => id).join(', ')}.`);
  const chosen = all.filter(({ id }) => values.id.length === 0 || values.id.includes(id));
  const missing = values.id.filter((id) => !chosen.some((mutant) => mutant.id === id));
  if (missing.length > 0) stop(`No mutant ${missing.join(', ')}.`);
  return chosen;
}

/** A change that is not committed could be lost, or decide the result. */
function requireCleanTree(mutants: readonly Mutant[]): void {
  if (values.force || values.check) return;
  const files = [...new Set(mutants.flatMap(({ file, killer }) => [file, killer.file]))];
  const { stdout, status } = spawnSync('git', ['status', '--porcelain', '--', ...files], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) stop('git status failed. Use --force outside of a repository.');
  if (stdout !== '')
    stop(`These files have changes that are not committed:\n${stdout}Commit them, or use --force.`);
}

/** Mutants with one killer file share one run without a mutant. */
function byKiller(mutants: readonly Mutant[]): readonly (readonly Mutant[])[] {
  return Object.values(
    Object.groupBy(mutants, ({ killer }) => `${killer.project} ${killer.file}`) as Record<string, Mutant[]>,
  );
}

async function runGroup(group: readonly Mutant[]): Promise<void> {
  const sound = group.filter((mutant) => {
    const fault = faultOf(mutant);
    if (fault !== null) report({ mutant, ...broken(fault) });
    return fault === null;
  });
  const first = sound[0];
  if (first === undefined || values.check) return;
  const titles = [...new Set(sound.map(({ killer }) => killer.title))];
  const { project, file } = first.killer;
  const baseline = await runTests(project, file, titles, timeoutMs);
  for (const mutant of sound) report({ mutant, ...(await runMutant(mutant, baseline)) });
}

async function runMutant(mutant: Mutant, baseline: Report | null): Promise<Verdict> {
  const { project, file, title } = mutant.killer;
  const without = judge(baseline, title);
  if (without.state !== 'survived') return broken(`without the mutant: ${without.reason}`);
  const path = join(root, mutant.file);
  changed = { path, bytes: readFileSync(path) };
  try {
    writeFileSync(path, mutated(mutant, changed.bytes.toString('utf8')));
    return judge(await runTests(project, file, [title], timeoutMs), title);
  } finally {
    restore();
  }
}

/** Why an entry cannot be run, or null. */
function faultOf(mutant: Mutant): string | null {
  try {
    const text = readFileSync(join(root, mutant.file), 'utf8');
    const times = text.split(mutant.find).length - 1;
    if (times !== 1) return `the code to find stands ${times} times in ${mutant.file}`;
    if (mutant.file.endsWith('.ts')) stripTypeScriptTypes(mutated(mutant, text));
    if (mutant.killer.title === '') return 'the killer has no title';
    if (mutant.requirement !== null && !requirements.includes(`- ${mutant.requirement} `))
      return `there is no requirement ${mutant.requirement}`;
    readFileSync(join(root, mutant.killer.file));
    return null;
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] as string) : String(error);
  }
}

function mutated({ find, replace }: Mutant, text: string): string {
  return text.replace(find, () => replace);
}

function restore(): void {
  if (changed !== null) writeFileSync(changed.path, changed.bytes);
  changed = null;
}

function report(outcome: Outcome): void {
  outcomes.push(outcome);
  if (values.json) return;
  const { mutant, state, reason } = outcome;
  const note = state === 'killed' ? '' : `  (${mutant.claim} ${mutant.killer.file}: ${reason})`;
  console.log(`${state === 'killed' ? 'killed  ' : state.toUpperCase()}  ${mutant.id}${note}`);
}

function summarize(): void {
  const count = (state: Verdict['state']) => outcomes.filter((outcome) => outcome.state === state).length;
  const covered = new Set(selected.map(({ requirement }) => requirement).filter(Boolean));
  const counts = { killed: count('killed'), survived: count('survived'), broken: count('broken') };
  if (values.json) {
    const results = outcomes.map(({ mutant: { id, requirement }, state, reason }) => ({
      id,
      requirement,
      state,
      reason,
    }));
    console.log(JSON.stringify({ mutants: selected.length, requirements: covered.size, ...counts, results }));
  } else if (values.check) {
    console.log(`${selected.length} mutants for ${covered.size} requirements, ${counts.broken} broken`);
  } else {
    console.log(
      `${selected.length} mutants for ${covered.size} requirements: ${counts.killed} killed, ${counts.survived} survived, ${counts.broken} broken`,
    );
  }
  const failed = values.check ? counts.broken > 0 : counts.killed !== selected.length;
  process.exitCode = failed ? 1 : 0;
}

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}
