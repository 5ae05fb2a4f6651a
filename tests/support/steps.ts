/** Tests of a file that build on each other. */
import { beforeEach, onTestFailed } from 'vitest';
import type { Visitor } from './browser.ts';

/**
 * After a failed test the later ones fail at once, because they could only fail for its reason. The message has the
 * faults of the visitors, and their pages are saved as pictures.
 */
export function stopAfterFailure(
  visitors: () => Readonly<Record<string, Visitor | undefined>>,
  output: () => string | undefined = () => undefined,
): void {
  let broken: string | undefined;
  beforeEach(({ task }) => {
    if (broken) throw new Error(`an earlier step failed: ${broken}`);
    onTestFailed(async () => {
      if (broken) return;
      const present = Object.entries(visitors());
      broken = [task.name, ...present.flatMap(([, visitor]) => visitor?.faults ?? []), output()].join('\n');
      for (const [name, visitor] of present) await visitor?.picture(`failed-${name}`);
    });
  });
}
