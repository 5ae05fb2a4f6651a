/** Compares the hosts that a vertical called with those that it declared (spec 4.3.6). */
import { PlatformError, toTimestamp } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { aboutOf } from '../access/reach.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type EgressReport, egressReport } from '../declarations/vertical-records.ts';
import { params, tag } from '../declarations/verticals.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { DeployedVersion, RegistryMethods } from './feature.ts';

export const verticalsEgress = adminOperation({
  name: 'verticals.egress',
  summary: 'Show which hosts a vertical called, beside those that it declared',
  description: 'Per deployed version. A runtime that does not watch outgoing calls answers unsupported.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/egress',
  input: {
    params,
    query: z.strictObject({
      hours: z.int().min(1).max(72).default(24).describe('How far back'),
      limit: z
        .int()
        .min(1)
        .max(1000)
        .default(500)
        .describe('How many observed hosts at most, of all versions'),
    }),
  },
  output: egressReport,
  problems: ['unsupported', 'runtime_fault'],
});

/** One host that calls of a version went to. */
export interface ObservedHost {
  readonly version: string;
  readonly host: string;
  readonly calls: number;
  readonly lastSeenAtMs: number;
}

/** Watches the outgoing calls of verticals. */
export interface EgressObserver {
  observed(query: {
    readonly vertical: string;
    readonly sinceMs: number;
    /** The most hosts. */
    readonly limit: number;
  }): Promise<{
    readonly hosts: readonly ObservedHost[];
    /** Whether only a part of the calls was observed. */
    readonly sampled: boolean;
    /** Whether there were more hosts than the limit. */
    readonly truncated: boolean;
  }>;
}

const HOUR_MS = 3_600_000;

export interface EgressDeps {
  readonly directory: UnitStub<RegistryMethods>;
  readonly egress: EgressObserver | undefined;
  readonly now: () => number;
  readonly incident: (method: string) => (error: unknown) => void;
}

/**
 * @throws PlatformError `not_found`; `unsupported` (501), reason `no_egress_seam`; `runtime_fault` (502) where the
 * observer fails.
 */
export async function readEgress(deps: EgressDeps, call: AdminCall): Promise<EgressReport> {
  const { params, query } = call as unknown as CallOf<typeof verticalsEgress>;
  const vertical = params.slug;
  await deps.directory.registryVertical({ call: aboutOf(call) });
  const { hours, limit } = query;
  const { hosts, sampled, truncated } = await observe(deps, {
    vertical,
    sinceMs: deps.now() - hours * HOUR_MS,
    limit,
  });
  const deployed = await deps.directory.deployedVersions(vertical);
  return {
    vertical,
    hours,
    limit,
    sampled,
    // An observer may answer more than it was asked for: the list is cut, and marked as truncated.
    truncated: truncated || hosts.length > limit,
    versions: sideBySide(deployed, hosts.slice(0, limit)),
  };
}

async function observe(
  { egress, incident }: EgressDeps,
  query: Parameters<EgressObserver['observed']>[0],
): ReturnType<EgressObserver['observed']> {
  if (!egress)
    throw new PlatformError('unsupported', 'This platform does not watch the outgoing calls of verticals.', {
      reason: 'no_egress_seam',
    });
  try {
    return await egress.observed(query);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    incident('egress')(cause);
    throw new PlatformError('runtime_fault', 'The observer of outgoing calls did not answer.', {
      cause,
    });
  }
}

/** Every deployed version, also without calls, and every version with calls, also one that the registry does not know. */
function sideBySide(
  deployed: readonly DeployedVersion[],
  hosts: readonly ObservedHost[],
): EgressReport['versions'] {
  const declaredBy = new Map(deployed.map(({ version, egress }) => [version, egress]));
  const versions = new Set([...declaredBy.keys(), ...hosts.map(({ version }) => version)]);
  return [...versions].map((version) => {
    const declared = declaredBy.get(version) ?? [];
    const observed = hosts
      .filter((each) => each.version === version)
      .map(({ host, calls, lastSeenAtMs }) => ({
        host,
        calls,
        lastSeenAt: toTimestamp(lastSeenAtMs),
        declared: declared.some((pattern) => covers(pattern, host)),
      }));
    return { version, declared: [...declared], observed };
  });
}

/** `*.example.com` covers every name below it, and not itself. */
function covers(pattern: string, host: string): boolean {
  const name = host.toLowerCase();
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}
