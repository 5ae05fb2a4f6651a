/** `freehold logs`: the requests of a tenant's instances and the lines of their code, in the order of time, as they come. */
import { scopeId, slug, tenantId } from '@freehold/contracts';
import type { Caller } from '@freehold/control-plane/client';
import { adminOperations } from '@freehold/directory/declarations';
import { z } from 'zod';
import { scopeIdOf, tenantIdOf } from '../admin/slugs.ts';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';

/** The time between two looks while following. */
const FOLLOW_MS = 1_000;
/** The lines of one page. */
const PAGE = 200;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const SINCE = 'must be a time back such as 30s, 15m, 2h or 3d, of 31 days at most';
const since = z
  .string()
  .regex(/^\d{1,5}[smhd]$/, SINCE)
  .default('1h')
  .transform((text) => Number(text.slice(0, -1)) * (UNITS_MS[text.slice(-1)] ?? 0))
  .refine((ms) => ms > 0 && ms <= 31 * 86_400_000, SINCE);

export const logsCommand = command({
  path: ['logs'],
  summary: 'Show the requests of instances, and the lines that their code wrote',
  description: [
    'Oldest first: each request with its status and duration, and between them the lines of the console and the exceptions',
    'of deployed verticals. With --follow it goes on until Ctrl-C. A builder sees its own tenant; staff name one. With',
    '--json, each entry is a line of JSON.',
  ].join('\n'),
  examples: [
    { line: 'freehold logs --follow', does: 'the instances of your own tenant, as it happens' },
    { line: 'freehold logs --tenant acme --min-status 500 --since 1d', does: 'what failed since yesterday' },
  ],
  arguments: [],
  options: {
    tenant: { summary: 'The id or the slug of the tenant', placeholder: 'tenant' },
    scope: { summary: 'Only this scope, by its id or its slug', placeholder: 'scope' },
    vertical: { summary: 'Only this vertical', placeholder: 'slug' },
    minStatus: {
      summary: 'Only requests with this status or a higher one, and no lines',
      placeholder: 'number',
    },
    since: { summary: 'How far back; the default is 1h', placeholder: 'time' },
    follow: { kind: 'flag', summary: 'Go on until Ctrl-C' },
    ...PROFILE_OPTION,
  },
  input: z.strictObject({
    tenant: z.union([tenantId, slug], 'must be a slug, or an id that begins with tnt_').optional(),
    scope: z.union([scopeId, slug], 'must be a slug, or an id that begins with scp_').optional(),
    vertical: slug.optional(),
    minStatus: z
      .string()
      .regex(/^[1-5]\d\d$/, 'must be a status such as 500')
      .transform(Number)
      .optional(),
    since,
    follow: z.boolean().default(false),
    profile: z.string().optional(),
  }),
  run: async ({ tenant, scope, vertical, minStatus, since: backMs, follow, profile }, world) => {
    const call = callerOf(requireTarget(world, profile), world);
    const ofTenant = tenant === undefined ? undefined : await tenantIdOf(call, tenant);
    const ofScope =
      scope === undefined || ofTenant === undefined ? scope : await scopeIdOf(call, ofTenant, scope);
    const filter = {
      ...(ofTenant === undefined ? {} : { tenant: ofTenant }),
      ...(ofScope === undefined ? {} : { scope: ofScope }),
      ...(vertical === undefined ? {} : { vertical }),
    };
    const ask = (sinceMs: number) => entriesSince({ call, world, filter, minStatus }, sinceMs);
    const first = await ask(world.now() - backMs);
    if (!follow)
      return {
        value: first.map(({ entry }) => entry),
        text:
          first.length === 0 ? 'Nothing happened in that time.' : first.map(({ text }) => text).join('\n'),
      };
    return { value: undefined, text: '', until: followFrom(first, backMs, ask, world) };
  },
});

interface Asking {
  readonly call: Caller;
  readonly world: World;
  readonly filter: Readonly<Record<string, string>>;
  readonly minStatus: number | undefined;
}

interface Entry {
  readonly at: string;
  /** Tells two entries of one moment apart. */
  readonly key: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Everything since then, oldest first: requests, and lines where no status is asked for. */
async function entriesSince({ call, filter, minStatus }: Asking, sinceMs: number): Promise<Entry[]> {
  const query = { ...filter, since: new Date(sinceMs).toISOString(), limit: PAGE };
  const [requests, lines] = await Promise.all([
    allOf(call, 'observability.tenant-logs', { ...query, ...(minStatus === undefined ? {} : { minStatus }) }),
    minStatus === undefined ? allOf(call, 'observability.tenant-lines', query) : [],
  ]);
  return [...requests.map(requestEntry), ...lines.map(lineEntry)].sort((one, other) =>
    one.at < other.at ? -1 : one.at > other.at ? 1 : 0,
  );
}

type Item = Readonly<Record<string, unknown>> & { readonly at: string };

async function allOf(
  call: Caller,
  name: 'observability.tenant-logs' | 'observability.tenant-lines',
  query: Readonly<Record<string, unknown>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { value } = await call(adminOperations[name], {
      query: { ...query, ...(cursor === undefined ? {} : { cursor }) },
    });
    const page = value as { readonly items: readonly Item[]; readonly nextCursor: string | null };
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

function requestEntry(item: Item): Entry {
  const { at, status, durationMs, vertical, version, operation, scope } = item;
  const took = typeof durationMs === 'number' ? `${Math.round(durationMs)} ms` : '';
  const text = `${at}  ${status}  ${took.padStart(8)}  ${vertical} ${version}  ${operation ?? ''}  ${scope ?? ''}`;
  return { at, key: JSON.stringify(item), entry: { kind: 'request', ...item }, text: text.trimEnd() };
}

function lineEntry(item: Item): Entry {
  const { at, level, vertical, version, text, stack } = item;
  const below = typeof stack === 'string' && stack !== '' ? `\n${stack.replace(/^/gm, '    ')}` : '';
  const said = `${at}  ${String(level).padEnd(5)}  ${vertical} ${version}  ${text}${below}`;
  return { at, key: JSON.stringify(item), entry: item, text: said };
}

/**
 * Lines arrive a moment after they happened, and not in the order of their times: each look goes a little further back
 * than the last one, and what was shown is not shown again.
 */
async function followFrom(
  first: readonly Entry[],
  backMs: number,
  ask: (sinceMs: number) => Promise<Entry[]>,
  { now, sleep, interrupted, output, asJson }: World,
): Promise<void> {
  const overlapMs = 5_000;
  let shown = new Set<string>();
  let found: readonly Entry[] = first;
  let lookedAtMs = now() - backMs;
  while (!interrupted.aborted) {
    const entries = found.filter(({ key }) => !shown.has(key));
    for (const { entry, text } of entries)
      await output.write(Buffer.from(`${asJson ? JSON.stringify(entry) : text}\n`));
    shown = new Set(found.map(({ key }) => key));
    await sleep(FOLLOW_MS, interrupted).catch(() => undefined);
    if (interrupted.aborted) return;
    const sinceMs = Math.max(lookedAtMs, now() - overlapMs - FOLLOW_MS);
    lookedAtMs = sinceMs;
    found = await ask(sinceMs);
  }
}
