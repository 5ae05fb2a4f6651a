/** The methods of a scope about long work: the works of a caller, their cancelling, and the resuming of halted ones. */
import { actorId, PlatformError, parseInput, toTimestamp } from '@freehold/contracts';
import { z } from 'zod';
import type { LongWorkRecord, ScopeMethods } from '../contract/scope-methods.ts';
import type { DenialStore } from '../denials/store.ts';
import { programGrant } from '../lib/programs.ts';
import { demandOutside } from '../permissions/methods.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Vertical } from '../vertical/vertical.ts';
import { type LifecycleParts, stopWork, unknownWork } from './lifecycle.ts';
import type { WorkEntry } from './store.ts';

const caller = { principal: actorId, program: programGrant.optional() };
const oneInput = z.strictObject({ ...caller, id: z.string().max(64) });
const listInput = z.strictObject({
  ...caller,
  before: z.string().max(64).optional(),
  limit: z.int().min(1).max(1_000),
});
type Caller = Pick<z.output<typeof oneInput>, 'principal' | 'program'>;
/** Sorts after every id. */
const NEWEST = '~';

type LongWorkMethods = Pick<ScopeMethods, 'longWorks' | 'longWork' | 'cancelLongWork' | 'resumeLongWork'>;

export interface LongWorkParts extends LifecycleParts {
  readonly permissions: Permissions;
  readonly denials: DenialStore;
  readonly wakeAfterCommit: () => void;
}

export function makeLongWorkMethods(parts: LongWorkParts): LongWorkMethods {
  const { works, vertical } = parts;
  const isAllowed = ({ principal, program }: Caller, kind: string): boolean =>
    parts.permissions.prove({
      principal,
      program,
      permission: permissionOf(vertical, kind),
      nowMs: parts.unit.now(),
    }) !== null;
  /** People see what they have started. A program needs the permission. */
  const isShown = (by: Caller, kind: string): boolean => by.program === undefined || isAllowed(by, kind);
  /** One that the caller started, or has the permission of. To others there is none. */
  const requireOne = (
    input: unknown,
  ): { readonly entry: WorkEntry; readonly by: z.output<typeof oneInput> } => {
    const by = parseInput('The work', oneInput, input);
    const entry = works.one(by.id);
    if (!entry || !Object.hasOwn(vertical.works ?? {}, entry.kind)) throw unknownWork();
    if (entry.principal === by.principal ? !isShown(by, entry.kind) : !isAllowed(by, entry.kind))
      throw unknownWork();
    return { entry, by };
  };
  const present = (entry: WorkEntry): LongWorkRecord =>
    presented(entry, vertical.works?.[entry.kind]?.summary);

  return {
    longWorks: (input) => {
      const { before = NEWEST, limit, ...by } = parseInput('The query', listInput, input);
      const kinds = Object.keys(vertical.works ?? {}).filter((kind) => isShown(by, kind));
      return works.mine(by.principal, kinds, { before, limit }).map(present);
    },
    longWork: (input) => present(requireOne(input).entry),
    cancelLongWork: (input) => {
      const { entry, by } = requireOne(input);
      const { state, proof, id } = entry;
      requireChanging(parts, entry, by);
      if (state !== 'stopping' && !isCancellable(entry))
        throw new PlatformError(
          'conflict',
          proof === null || state === 'done'
            ? 'This has ended.'
            : 'All of it is decided, and the rest follows: it can no longer be cancelled.',
          { reason: proof === null || state === 'done' ? 'work_ended' : 'work_decided' },
        );
      if (state !== 'stopping') stopWork(parts, entry, 'cancelled', null);
      parts.wakeAfterCommit();
      return present(works.one(id) as WorkEntry);
    },
    resumeLongWork: (input) => {
      const { entry, by } = requireOne(input);
      const { id, state, kind } = entry;
      if (state !== 'halted')
        throw new PlatformError('conflict', 'This was not halted.', { reason: 'work_not_halted' });
      const { principal, program } = by;
      const permission = permissionOf(vertical, kind);
      const proof = demandOutside(parts, { principal, permission, program, writes: true });
      works.update(id, {
        state: 'running',
        proof: JSON.stringify(proof),
        principal,
        program: program === undefined ? null : JSON.stringify(program),
        attempts: 0,
        errorCode: null,
        errorDetail: null,
        nextAtMs: parts.unit.now(),
      });
      parts.wakeAfterCommit();
      return present(works.one(id) as WorkEntry);
    },
  };
}

/** A program needs the permission to write; a person may always cancel what they started. */
function requireChanging(
  parts: LongWorkParts,
  { kind, principal: startedBy }: WorkEntry,
  { principal, program }: z.output<typeof oneInput>,
): void {
  const permission = permissionOf(parts.vertical, kind);
  if (startedBy !== principal || program !== undefined)
    demandOutside(parts, { principal, permission, program, writes: true });
}

/** The kind is declared: others are not found. */
function permissionOf({ works = {} }: Vertical, kind: string): string {
  return works[kind]?.permission ?? '';
}

function isCancellable({ state, proof }: WorkEntry): boolean {
  return proof === null && (state === 'running' || state === 'waiting');
}

function presented(entry: WorkEntry, summary = ''): LongWorkRecord {
  const { id, kind, state, step, done, total, principal, errorCode, errorDetail } = entry;
  return {
    id,
    kind,
    summary,
    state,
    step,
    done,
    total,
    isCancellable: isCancellable(entry),
    startedBy: principal,
    error: errorCode === null ? null : { code: errorCode, detail: errorDetail ?? '' },
    startedAt: toTimestamp(entry.startedAtMs),
    changedAt: toTimestamp(entry.changedAtMs),
    endedAt: entry.endedAtMs === null ? null : toTimestamp(entry.endedAtMs),
  };
}
