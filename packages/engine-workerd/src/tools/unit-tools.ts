/**
 * The tools of a unit on the caller's side. A copy crosses to and from the object part by part, so that neither a slow
 * reader nor a slow sender holds the object up.
 */
import { type Failure, fromFailure, PlatformError } from '@freehold/contracts';
import {
  type Admission,
  type Admit,
  admissionOf,
  type CopyFormat,
  type Replacing,
  type SqlRow,
  type UnitCopy,
  type UnitTools,
} from '@freehold/store';
import { type AdmitStep, admitFromAfar, type Judge } from './admission.ts';
import { PART_BYTES_MAX, type StoredCopy } from './copy-store.ts';
import type { ToolMethods } from './object-methods.ts';
import { checkFromAfar, type PresentReading, type RequirePresent } from './present.ts';
import { copyDamaged, engineCannot } from './refusals.ts';

/** An object's answer in transit. */
export type ToolOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** Sends one request to the object. Rejects when no answer came. */
export type AskTool = (tool: string, input: unknown) => Promise<ToolOutcome>;

export interface UnitToolsOptions {
  readonly newId: () => string;
  /**
   * Whether a request reaches the object as it is, functions included: the object is in this isolate. Its judges then read
   * one load of a copy, however much they read. Default false.
   */
  readonly isAtHand?: boolean;
}

/** Builds the tools over the way to the object. */
export function makeUnitTools(send: AskTool, { newId, isAtHand = false }: UnitToolsOptions): UnitTools {
  const ask = async <K extends keyof ToolMethods>(
    tool: K,
    ...[input]: Parameters<ToolMethods[K]>
  ): Promise<Awaited<ReturnType<ToolMethods[K]>>> => {
    const outcome = await send(tool, input);
    if (!outcome.ok) throw fromFailure(outcome.failure);
    return outcome.value as Awaited<ReturnType<ToolMethods[K]>>;
  };

  const requireText = async (format: CopyFormat, of: 'unit' | 'copy' = 'unit'): Promise<void> => {
    await ask(of === 'unit' ? 'requireCopies' : 'requireCopied');
    if (format !== 'ndjson')
      throw engineCannot('A Durable Object cannot give its database file away, nor take one.');
  };

  /** A part does not change, so it is requested again when the object died meanwhile. */
  const readPart = (id: string, part: number): Promise<Uint8Array> =>
    ask('readPart', { id, part }).catch((error: unknown) => {
      if (error instanceof PlatformError && error.reason === 'unit_unreachable')
        return ask('readPart', { id, part });
      throw error;
    });

  const bodyOf = ({ id, parts }: StoredCopy, end: () => Promise<void>): ReadableStream<Uint8Array> => {
    let part = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            if (part === parts) {
              await end();
              return controller.close();
            }
            const bytes = await readPart(id, part);
            part += 1;
            controller.enqueue(bytes);
          } catch (error) {
            controller.error(error);
          }
        },
        cancel: end,
      },
      // Nothing is fetched before the reader asks.
      { highWaterMark: 0 },
    );
  };

  /** Sends a copy to the object, where it is stored under the id. */
  const stage = async (id: string, body: ReadableStream<Uint8Array>): Promise<void> => {
    let part = 0;
    for await (const bytes of inParts(body)) {
      await ask('stage', { id, part, bytes });
      part += 1;
    }
    if (part === 0) throw copyDamaged('it is empty');
    await ask('takeIn', { id });
  };

  const readStaged =
    (id: string) =>
    async (steps: readonly AdmitStep[]): Promise<readonly SqlRow[]> =>
      (await ask('judge', { id, judge: steps })).rows;

  /** Lets a judge look at a staged copy, and prepare. Returns what it decides by. */
  const judged = async (admit: Admit | Admission | undefined, id: string): Promise<Judge> => {
    if (!isAtHand) return judgedFromAfar(admit, readStaged(id));
    if (typeof admit !== 'object') return admit ?? [];
    let seen: unknown;
    const look: Admit = (staged) => {
      seen = admit.look(staged);
    };
    await ask('judge', { id, judge: look });
    await admit.prepare(seen);
    return admit.admit;
  };

  /** Replaces the present state only while it is as the caller's check saw it. */
  const ifPresent = async <T>(
    require: RequirePresent | undefined,
    replace: (present: readonly PresentReading[]) => Promise<T>,
  ): Promise<T> => {
    if (!require) return replace([]);
    const check = () => checkFromAfar(require, (step) => ask('readPresent', { step }));
    try {
      return await replace(await check());
    } catch (error) {
      // The check itself says what changed.
      if (error instanceof PlatformError && error.reason === 'present_changed') await check();
      throw error;
    }
  };

  return {
    export: async (format): Promise<UnitCopy> => {
      await requireText(format);
      const copy = await ask('copy', { id: newId() });
      return { format, bookmark: copy.bookmark, body: bodyOf(copy, () => ask('drop', { id: copy.id })) };
    },

    restore: async (
      format,
      body,
      admit?: Admit | Admission,
      replacing: Replacing = atOnce,
      { evenIfLost = false } = {},
    ) => {
      const id = newId();
      try {
        await requireText(format, evenIfLost ? 'copy' : 'unit');
        await stage(id, body);
        const judge = await judged(admit, id);
        return await replacing((require) =>
          ifPresent(require, (present) => ask('restore', { id, judge, present })),
        );
      } finally {
        await body.cancel().catch(() => undefined);
        await ask('drop', { id }).catch(() => undefined);
      }
    },

    examine: async (format, body, look = () => undefined) => {
      const id = newId();
      try {
        await requireText(format, 'copy');
        await stage(id, body);
        const judge = isAtHand ? look : await admitFromAfar(look, readStaged(id));
        return (await ask('judge', { id, judge })).loaded;
      } finally {
        await body.cancel().catch(() => undefined);
        await ask('drop', { id }).catch(() => undefined);
      }
    },

    snapshot: ({ id, name = null }) => ask('snapshot', { id, name }),
    snapshots: () => ask('snapshots'),
    openSnapshot: async (id) => {
      const copy = await ask('findSnapshot', { id });
      return { format: 'ndjson', bookmark: copy.bookmark, body: bodyOf(copy, async () => undefined) };
    },
    removeSnapshot: (id) => ask('removeSnapshot', { id }),

    bookmarks: (query) => ask('bookmarks', query),
    rewind: async (target, admit, replacing: Replacing = atOnce) => {
      const rewound = await replacing(async (require) => {
        const reached = await ifPresent(require, (present) => ask('rewind', { target, present }));
        // The object ends without an answer, and restarts at the bookmark.
        await ask('leave').catch(() => undefined);
        return reached;
      });
      try {
        const steps = await judgedFromAfar(admit, (before) => ask('judgeRewound', { steps: before }));
        await ask('admitRewound', { steps });
        return rewound;
      } catch (error) {
        // A state that was not admitted must not stay; an object that does not get this request stays closed.
        await ask('undoRewind').catch(() => undefined);
        throw error;
      }
    },

    inspect: (request) => ask('inspect', request),
    remove: () => ask('remove'),
  };
}

/** Runs a judge on a remote staged database and returns its steps. */
async function judgedFromAfar(
  judge: Admit | Admission | undefined,
  answer: Parameters<typeof admitFromAfar>[1],
): Promise<readonly AdmitStep[]> {
  if (!judge) return [];
  const admission = admissionOf(judge);
  let seen: unknown;
  await admitFromAfar((staged) => {
    seen = admission.look(staged);
  }, answer);
  await admission.prepare(seen);
  return admitFromAfar(admission.admit, answer);
}

const atOnce: Replacing = (swap) => swap();

/** Cuts the received bytes into parts of one size. @throws PlatformError `copy_damaged` when the sender breaks off. */
async function* inParts(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw cause instanceof PlatformError ? cause : copyDamaged('the connection broke off', cause);
      });
      if (done) break;
      held.push(value);
      bytes += value.length;
      if (bytes < PART_BYTES_MAX) continue;
      const all = Buffer.concat(held);
      const whole = all.length - (all.length % PART_BYTES_MAX);
      for (let at = 0; at < whole; at += PART_BYTES_MAX)
        yield new Uint8Array(all.subarray(at, at + PART_BYTES_MAX));
      held = [all.subarray(whole)];
      bytes = all.length - whole;
    }
    if (bytes > 0) yield new Uint8Array(Buffer.concat(held));
  } finally {
    reader.releaseLock();
  }
}
