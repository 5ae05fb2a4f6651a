/** A place whose bundle does what its process must survive, and questions about its processes. */
import { existsSync } from 'node:fs';
import type { ProcessLimits } from '../src/process/vertical-process.ts';
import { notes } from './bundles/plain.ts';
import { ACME, type Instance, openPlace, type Place } from './place.ts';

/** On a busy machine a process that hangs is not told from one that does not run: only tests of hanging are impatient. */
const LIMITS = {
  heartbeatMs: 100,
  silenceMs: 60_000,
  idleMs: 1_200,
  heapMib: 64,
  drainMs: 400,
  recoverMs: 500,
} satisfies Partial<ProcessLimits>;

/** @param declared the body of the function that says what the bundle declares. */
export const processBundle = (version: string, declared = 'return super.declaration();'): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const { Instance: Plain, Declaration: Honest } = hostedApp(notes('${version}', []));
  let dueAtMs = null;
  export class Declaration extends Honest {
    async declaration() {
      ${declared}
    }
  }
  export class Instance extends Plain {
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/version') return new Response('${version}');
      if (pathname === '/loop') for (;;) Math.random();
      if (pathname === '/allocate') for (const all = []; ; ) all.push(new Array(1_000_000).fill(all.length));
      if (pathname === '/slow') {
        await new Promise((resolve) => setTimeout(resolve, Number(searchParams.get('ms'))));
        return new Response('done');
      }
      if (pathname === '/stream') {
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        this.ctx.waitUntil((async () => {
          for (let part = 0; part < 20; part++) {
            await writer.write(new Uint8Array(100));
            await wait(100);
          }
          await writer.close();
        })());
        return new Response(readable);
      }
      if (pathname !== '/due') return super.fetch(request);
      dueAtMs = Date.now() + Number(searchParams.get('ms'));
      await this.ctx.props.platform.wake();
      return new Response(String(dueAtMs));
    }
    async work() {
      if (dueAtMs !== null && dueAtMs <= Date.now()) dueAtMs = null;
      console.log('worked');
      return dueAtMs;
    }
  }`;

export interface Processes {
  readonly place: Place;
  /** Makes this version of the bundle the one that new instances run. Returns its script. */
  serve(version: string): Promise<string>;
  pidOf(vertical?: string): number | null;
  textOf(path: string, instance?: Instance): Promise<string>;
  /** The number of times that due work was done. */
  worked(): number;
}

export async function openProcesses(limits: Partial<ProcessLimits> = {}): Promise<Processes> {
  const place = openPlace({ vertical: 'notes', limits: { ...LIMITS, ...limits } });
  const processes: Processes = {
    place,
    serve: async (version) => {
      const script = await place.upload(notes(version, []), processBundle(version));
      await place.runtime.serve({ vertical: 'notes', archiveScript: script });
      return script;
    },
    pidOf: (vertical = 'notes') =>
      place.runtime.processes().find((each) => each.vertical === vertical)?.pid ?? null,
    textOf: async (path, instance = ACME) => (await place.visit(path, instance)).text(),
    worked: () => place.lines.filter((line) => line.kind === 'console' && line.text === 'worked').length,
  };
  await processes.serve('1.0.0');
  return processes;
}

export function isGone(pid: number): boolean {
  return !existsSync(`/proc/${pid}`);
}
