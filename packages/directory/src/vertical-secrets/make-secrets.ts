/** Seals the secrets of builders on their way into the directory, and opens them for the runtime of their vertical. */
import { PlatformError } from '@freehold/contracts';
import { type Keyring, makeKeyring, type UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import { aboutOf } from '../access/reach.ts';
import type { ChangeInput, ChangeOutcome } from '../changes/changes.ts';
import type { CallOf, WiringFacts } from '../lib/handlers.ts';
import type { Performers } from '../lib/performers.ts';
import { requireRuntime, type VerticalRuntime } from '../vertical-registry/deploy.ts';
import type { RegistryMethods } from '../vertical-registry/feature.ts';
import type { SecretMethods } from './feature.ts';
import type { secretsSet } from './operations.ts';
import type { SealedSecret } from './store.ts';

/** NIST SP 800-38D, section 8.2.2. */
const IV_BYTES = 12;

/** For the platform's own wiring alone: no operation leads to it. */
export interface VerticalSecrets {
  /**
   * The secrets of a vertical by name, for the instances of its versions.
   * @throws PlatformError `unavailable`, reason `secret_unreadable`: the key that one was sealed under is missing.
   */
  secretsOf(vertical: string): Promise<Readonly<Record<string, string>>>;
  /** Seals under the first key what is sealed under another. Returns the number of secrets that no key opens. */
  resealSecrets(): Promise<{ readonly left: number }>;
}

interface SecretsDeps {
  readonly directory: UnitStub<
    SecretMethods & Pick<RegistryMethods, 'registryVertical'> & { change(input: ChangeInput): ChangeOutcome }
  >;
  readonly runtime: VerticalRuntime | undefined;
  readonly keyring: Keyring | undefined;
  readonly random: (bytes: number) => Uint8Array;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Follows every durable change. It does not reject. */
  readonly finalize: (outcome: ChangeOutcome) => Promise<AdminResult>;
  /** Reports an unexpected error of the named method. */
  readonly incident: (method: string) => (error: unknown) => void;
}

export function makeVerticalSecrets({
  directory,
  runtime,
  keyring = makeKeyring([]),
  random,
  factsOf,
  finalize,
  incident,
}: SecretsDeps): { readonly performers: Performers; readonly intake: VerticalSecrets } {
  const seal = (place: Omit<SealedSecret, 'sealed'>, secret: string): string =>
    keyring.seal(placeOf(place), secret, random(IV_BYTES));

  /** An instance that could not be told keeps the former secret until its process is started again. */
  const applied = async (call: AdminCall, outcome: ChangeOutcome): Promise<AdminResult> => {
    const result = await finalize(outcome);
    await runtime?.settingsChanged(String(call.params.slug)).catch(incident('settingsChanged'));
    return result;
  };

  const put = async (call: AdminCall): Promise<AdminResult> => {
    // Access comes first: a caller that must not know the vertical learns nothing about the platform either.
    await directory.registryVertical({ call: aboutOf(call) });
    requireRuntime(runtime);
    const { params, body } = call as unknown as CallOf<typeof secretsSet>;
    const sealed = seal({ vertical: params.slug, name: params.name }, body.secret);
    return applied(call, await directory.putSecret({ call, facts: factsOf(call), sealed }));
  };

  return {
    performers: {
      'secrets.set': put,
      'secrets.rotate': put,
      'secrets.remove': async (call) => applied(call, await directory.change({ call, facts: factsOf(call) })),
    },
    intake: {
      secretsOf: async (vertical) => {
        const opened: Record<string, string> = {};
        for (const secret of await directory.sealedSecrets(vertical)) {
          const value = keyring.open(placeOf(secret), secret.sealed);
          // An application without one of its secrets could do something else than its author meant.
          if (value === null) throw unreadable();
          opened[secret.name] = value;
        }
        return opened;
      },
      resealSecrets: async () => {
        let left = 0;
        for (const vertical of await directory.verticalsWithSecrets())
          for (const secret of await directory.sealedSecrets(vertical)) {
            if (!keyring.isStale(secret.sealed)) continue;
            const value = keyring.open(placeOf(secret), secret.sealed);
            if (value === null) left++;
            else
              await directory.resealSecret({ ...secret, before: secret.sealed, sealed: seal(secret, value) });
          }
        return { left };
      },
    },
  };
}

function placeOf({ vertical, name }: Omit<SealedSecret, 'sealed'>): string {
  return `vertical-secret:${vertical}:${name}`;
}

function unreadable(): PlatformError {
  return new PlatformError(
    'unavailable',
    'A secret of this application cannot be opened: the key that it was sealed under is missing.',
    { reason: 'secret_unreadable' },
  );
}
