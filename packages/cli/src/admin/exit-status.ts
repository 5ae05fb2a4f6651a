/** Answers that came and are bad news all the same: whoever runs a command by the clock hears of it by the exit code. */
import { PlatformError } from '@freehold/contracts';
import type {
  AdminLogVerification,
  AdminOperation,
  AdminOperationName,
} from '@freehold/directory/declarations';

const SENTENCES: Readonly<Partial<Record<AdminOperationName, (value: never) => string | null>>> = {
  'admin-log.verify': ({ status, firstBad }: AdminLogVerification) =>
    status === 'broken'
      ? `The admin log is not as it was written: ${firstBad?.reason} at row ${firstBad?.sequence}.`
      : null,
};

/** What is told behind an answer, or nothing. */
export function exitStatusOf({ name }: AdminOperation, value: unknown): PlatformError | undefined {
  const sentence = SENTENCES[name as AdminOperationName]?.(value as never) ?? null;
  return sentence === null ? undefined : new PlatformError('runtime_fault', sentence, { reason: 'broken' });
}
