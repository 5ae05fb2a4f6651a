/** The walls around a process, as the system itself shows them. Those whose program is not installed here are not there. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wallsHere } from '../src/process/command.ts';
import { workerOf } from '../src/process/worker-of.ts';
import { ACME, type Place } from './place.ts';
import { isGone, openProcesses, type Processes } from './processes.ts';

const walls = wallsHere();

let place: Place;
let processes: Processes;
/** The process that runs bundles, within all walls. */
let worker: number;

beforeAll(async () => {
  processes = await openProcesses();
  place = processes.place;
  expect(await processes.textOf('/version')).toBe('1.0.0');
  worker = workerOf(processes.pidOf() as number);
}, 60_000);

afterAll(() => place.close());

const shown = (file: string): string => readFileSync(`/proc/${worker}/${file}`, 'utf8');
const statusOf = (name: string): string | undefined =>
  new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(shown('status'))?.[1];

test('it has none of the platform’s environment, working directory and open files', () => {
  const names = shown('environ')
    .split('\0')
    .flatMap((each) => (each === '' ? [] : [each.split('=')[0]]));
  // A sandbox names the working directory.
  expect(names.filter((name) => name !== 'PWD')).toEqual([]);
  const folder = join(place.folder, 'notes');
  expect(readlinkSync(`/proc/${worker}/cwd`)).toBe(folder);
  const foreign = readdirSync(`/proc/${worker}/fd`)
    .map((fd) => readlinkSync(`/proc/${worker}/fd/${fd}`))
    .filter((path) => path.startsWith('/') && !path.startsWith(`${folder}/`))
    // workerd itself opens the root and its working directory.
    .filter((path) => path !== '/' && path !== folder && !path.startsWith('/dev/'));
  expect(foreign).toEqual([]);
});

test.runIf(walls.memory)('its memory is limited, and it leaves no core file', () => {
  expect(shown('limits')).toMatch(/^Max data size +1610612736 /m);
  expect(shown('limits')).toMatch(/^Max core file size +0 /m);
});

test.runIf(walls.endsWithPlatform)('it gains no privileges', () => {
  expect(statusOf('NoNewPrivs')).toBe('1');
});

test.runIf(walls.sandbox)(
  'a sandbox shows it its own folder, the system’s libraries, and no other process',
  () => {
    const root = `/proc/${worker}/root`;
    expect(
      readdirSync(root).filter((name) => ['home', 'root', 'srv', 'var', 'opt', 'run'].includes(name)),
    ).toEqual([]);
    expect(existsSync(`${root}/etc/passwd`)).toBe(false);
    expect(readdirSync(`${root}${place.folder}`)).toEqual(['notes']);
    expect([statusOf('CapEff'), statusOf('CapBnd')]).toEqual(['0000000000000000', '0000000000000000']);
    // The id of a process in each namespace, the innermost one last.
    expect(Number(statusOf('NSpid')?.split('\t').at(-1))).toBeLessThan(10);
    // A link that leads out of the sandbox would be a certificate that it cannot read.
    const certificates = readdirSync('/etc/ssl/certs').map((name) =>
      readlinkOrNull(`/etc/ssl/certs/${name}`),
    );
    const outside = certificates.filter(
      (target) => target?.startsWith('/') && !existsSync(`${root}${target}`),
    );
    expect(outside).toEqual([]);
  },
);

test('it ends in order, whatever is around it', async () => {
  const slow = processes.textOf('/slow?ms=300', ACME);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await place.runtime.end('notes');
  expect([await slow, isGone(worker), place.faults]).toEqual(['done', true, []]);
});

function readlinkOrNull(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
