/** The call of a step of long work. */
import type { ProgramGrant } from '@freehold/contracts';
import { z } from 'zod';
import type { LifecycleParts } from '../long-work/lifecycle.ts';
import type { WorkEntry } from '../long-work/store.ts';
import type { InvokeInput, StepOfWork } from '../operations/invoke.ts';
import type { LongWork } from '../vertical/long-work.ts';
import type { Proof } from '../vertical/vertical.ts';

/** Returns the call of a work's next step: as the person, through the program, caused by the event of the start. */
export function stepCall(
  { vertical, works }: LifecycleParts,
  entry: WorkEntry,
): { readonly input: InvokeInput; readonly step: StepOfWork } | null {
  const { kind, principal, program, cause, proof, hops, id } = entry;
  const declared: LongWork | undefined = vertical.works?.[kind];
  if (!declared) return null;
  return {
    input: {
      operation: kind,
      principal,
      input: {},
      cause,
      ...(program === null ? {} : { program: JSON.parse(program) as ProgramGrant }),
    },
    step: {
      hops,
      proof: proof === null ? null : (JSON.parse(proof) as Proof),
      operation: {
        summary: declared.summary,
        input: z.strictObject({}),
        output: z.null() as z.ZodType,
        permission: declared.permission,
        run: (ctx) => {
          works.update(id, { step: entry.step + 1, attempts: 0, nextAtMs: ctx.now, changedAtMs: ctx.now });
          // A promise would be refused as an output.
          return (declared.step(ctx, ctx.work(id)) as unknown) ?? null;
        },
      },
    },
  };
}
