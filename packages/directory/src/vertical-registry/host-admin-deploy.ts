/** What deploying and promoting do in the runtime. */
import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import type { Deployment } from '../declarations/vertical-records.ts';
import type { DeployModule, DeployStep } from '../declarations/verticals.ts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { servingScript } from '../service-refs/script-names.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { Unanswered } from '../verticals/outcome.ts';
import type { Serving } from './channels.ts';
import type { PreparedDeployment, verticalsDeploy } from './deploy.ts';
import type { TakenModules, VerticalRuntime } from './runtime.ts';

export interface DeployDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly runtime: VerticalRuntime | undefined;
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** Effects by the name of their operation. */
export function makeDeployEffects({
  directory,
  runtime,
  incident,
}: DeployDeps): Readonly<Record<string, Effect>> {
  /** @param isDecided whether a refusal means that nothing was done. */
  const ask = async (work: Promise<void>, isDecided: boolean): Promise<void> => {
    try {
      await work;
    } catch (cause) {
      if (isDecided && cause instanceof PlatformError) throw cause;
      if (!(cause instanceof PlatformError)) incident('runtime')(cause);
      throw undecided(cause);
    }
  };

  const promote: Effect<Serving> = {
    check: async () => undefined,
    run: async (_deps, _call, prepared) => {
      await ask(serve(requireRuntime(runtime), prepared), true);
      return { facts: { id: prepared.id } };
    },
  };

  const deploy: Effect<PreparedDeployment> = {
    check: async (_deps, call) => {
      // Whoever may not know of the vertical learns nothing about this platform's runtime either.
      await directory.registryVertical({ actor: call.actor, slug: String(call.params.slug) });
      requireRuntime(runtime);
    },
    run: async (_deps, call, prepared, report = () => undefined) => {
      const { manifest, modules: sent } = bodyOf(call);
      const { id, vertical, version, script } = prepared;
      const modules = sent.map(({ base64, ...file }) => ({ ...file, bytes: bytesOf(base64) }));
      const present = requireRuntime(runtime);
      const total = totalOf(sent);
      const say = (step: DeployStep['step'], taken: TakenModules): void =>
        report(stepOf(step, { id, version, taken, total }));
      say('registered', NOTHING);
      say('uploading', NOTHING);
      let isUploading = true;
      const onTaken = (taken: TakenModules): void => {
        if (isUploading) say('uploading', taken);
      };
      await ask(present.upload({ vertical, version, script, manifest, modules }, onTaken), true);
      isUploading = false;
      say('uploaded', total);
      // The upload is done by now: a refusal does not mean that nothing happened.
      if (prepared.serves) await ask(serve(present, prepared), false);
      return { facts: { id } };
    },
    finalize: ({ call, value, report }) => {
      const { admit, promote: promotes, modules } = bodyOf(call);
      const {
        version: { id, version },
      } = value as Deployment;
      const total = totalOf(modules);
      const say = (step: DeployStep['step']): void =>
        report(stepOf(step, { id, version, taken: total, total }));
      if (admit) say('admitted');
      if (promotes) say('serving');
    },
  };

  return { 'channels.promote': promote, 'verticals.deploy': deploy };
}

const NOTHING: TakenModules = { modules: 0, bytes: 0 };

function bodyOf(call: AdminCall): CallOf<typeof verticalsDeploy>['body'] {
  return (call as unknown as CallOf<typeof verticalsDeploy>).body;
}

function totalOf(modules: readonly DeployModule[]): TakenModules {
  // Four characters are three bytes, less one for each character of padding (RFC 4648, section 4).
  const bytes = modules.reduce(
    (sum, { base64 }) => sum + (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0),
    0,
  );
  return { modules: modules.length, bytes };
}

function stepOf(
  step: DeployStep['step'],
  {
    id,
    version,
    taken,
    total,
  }: Pick<DeployStep, 'id' | 'version'> & { readonly taken: TakenModules; readonly total: TakenModules },
): DeployStep {
  return {
    step,
    id,
    version,
    modules: { done: taken.modules, total: total.modules },
    bytes: { done: taken.bytes, total: total.bytes },
  };
}

function serve(runtime: VerticalRuntime, { vertical, version, script }: Serving): Promise<void> {
  return runtime.serve({ vertical, version, servingScript: servingScript(vertical), archiveScript: script });
}

/** A reason of those that leave the outcome open: see `verticals/outcome.ts`. */
function undecided(cause: unknown): PlatformError {
  return new PlatformError('runtime_fault', 'The runtime did not say what became of it.', {
    reason: 'vertical_unreachable' satisfies Unanswered,
    cause,
  });
}

/** @throws PlatformError `unsupported` (501), reason `no_runtime`. */
function requireRuntime(runtime: VerticalRuntime | undefined): VerticalRuntime {
  if (runtime) return runtime;
  throw new PlatformError(
    'unsupported',
    'This platform runs the verticals that are compiled into it or that its operator binds, and has no runtime that versions could be uploaded to.',
    { reason: 'no_runtime' },
  );
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
