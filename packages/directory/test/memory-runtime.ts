/** A runtime that keeps what it is given in memory, takes it file by file, and says so. */
import { createHash } from 'node:crypto';
import { PlatformError, toFailure } from '@freehold/contracts';
import type { RuntimeModule, VerticalRuntime } from '../src/index.ts';
import { servingScript } from '../src/service-refs/script-names.ts';
import { type MemoryPreviews, makeMemoryPreviews } from './memory-previews.ts';

export interface MemoryRuntime extends VerticalRuntime {
  readonly previews: MemoryPreviews;
  /** Archive script → its files, once all of them were taken. */
  readonly uploaded: ReadonlyMap<string, readonly RuntimeModule[]>;
  /** Serving script → the archive script that it runs. */
  readonly serving: ReadonlyMap<string, string>;
  /** Scope → the archive script that it was moved to. */
  readonly moved: ReadonlyMap<string, string>;
  /** The verticals whose settings changed, oldest first. */
  readonly resettled: readonly string[];
  /** A hook before a file is taken, or before a version serves, or a scope is moved: it can wait, or throw. */
  before: (what: string) => Promise<void>;
}

export function makeMemoryRuntime(): MemoryRuntime {
  const uploaded = new Map<string, readonly RuntimeModule[]>();
  const serving = new Map<string, string>();
  const moved = new Map<string, string>();
  const resettled: string[] = [];
  const runtime: MemoryRuntime = {
    previews: makeMemoryPreviews(),
    uploaded,
    serving,
    moved,
    resettled,
    settingsChanged: async (vertical) => {
      await runtime.before(`settings ${vertical}`);
      resettled.push(vertical);
    },
    move: async ({ scope, script }) => {
      try {
        await runtime.before(`move ${scope} ${script}`);
      } catch (error) {
        if (error instanceof PlatformError) return { failure: toFailure(error) };
        throw error;
      }
      moved.set(scope, script);
      return { failure: null };
    },
    modules: async () =>
      [...uploaded.values()].flatMap((files) => files.flatMap(({ bytes }) => (bytes ? [sha256(bytes)] : []))),
    before: async () => undefined,
    upload: async ({ script, modules }, onTaken) => {
      let bytes = 0;
      for (const [index, module] of modules.entries()) {
        await runtime.before(module.name);
        bytes += module.bytes?.length ?? 0;
        onTaken({ modules: index + 1, bytes });
      }
      uploaded.set(script, modules);
    },
    discard: async ({ vertical, script, scopes, dryRun }) => {
      await runtime.before(`discard ${script}`);
      if (
        serving.get(servingScript(vertical)) === script ||
        scopes.some(({ scope }) => moved.get(scope) === script)
      )
        throw new PlatformError('conflict', 'A scope still runs this version.', { reason: 'version_in_use' });
      const files = uploaded.get(script) ?? [];
      if (!dryRun) uploaded.delete(script);
      const others = new Set(
        [...uploaded].flatMap(([name, all]) => (name === script ? [] : all.map(digestOfFile))),
      );
      const gone = files.filter((file) => !others.has(digestOfFile(file)));
      return { files: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0) };
    },
    serve: async ({ servingScript, archiveScript }) => {
      await runtime.before(`serve ${archiveScript}`);
      if (!uploaded.has(archiveScript)) throw new TypeError(`there is no ${archiveScript} to serve`);
      serving.set(servingScript, archiveScript);
    },
  };
  return runtime;
}

const digestOfFile = ({ bytes, digest }: RuntimeModule): string => (bytes ? sha256(bytes) : digest);

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
