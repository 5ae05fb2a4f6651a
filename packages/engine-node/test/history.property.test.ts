/** After any sequence of actions on a unit, every bookmark leads to exactly its state, and an undo leads back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { type NodeEngine, openNodeEngine } from '../src/index.ts';
import { historyUnit } from './history-unit.ts';

type Step =
  | { readonly do: 'add'; readonly rows: number; readonly bytes: number; readonly calls: number }
  | { readonly do: 'remove'; readonly every: number }
  | { readonly do: 'fail' | 'reopen' | 'evict' | 'export' | 'sweep' | 'settle' }
  | { readonly do: 'rewind'; readonly to: number }
  | { readonly do: 'undo' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        rows: fc.integer({ min: 1, max: 12 }),
        bytes: fc.constantFrom(0, 10, 500, 9_000),
        calls: fc.integer({ min: 1, max: 5 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('remove' as const), every: fc.integer({ min: 2, max: 4 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom(
          'fail' as const,
          'reopen' as const,
          'evict' as const,
          'export' as const,
          'sweep' as const,
          'settle' as const,
        ),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('rewind' as const), to: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const) }) },
  ),
  { minLength: 5, maxLength: 25 },
);

const RUNS = Number(process.env.HISTORY_RUNS ?? runs(12));

test(`every bookmark of ${RUNS} random lives leads to its state`, {
  timeout: 60_000 + RUNS * 20_000,
}, async () => {
  await fc.assert(fc.asyncProperty(steps, live), { numRuns: RUNS });
});

async function live(plan: readonly Step[]): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-history-'));
  let nowMs = 1_800_000_000_000;
  const incidents: unknown[] = [];
  const open = (): NodeEngine =>
    openNodeEngine({
      dataDirectory,
      openUnitsMax: 1,
      logFramesMax: 20,
      now: () => {
        nowMs += 7;
        return nowMs;
      },
      onIncident: (error, { method }) => {
        if (method !== 'addAndFail') incidents.push(error);
      },
    });
  let engine = open();
  const states = new Map<string, string>();
  let undo: string | undefined;
  const unit = () => engine.unit(historyUnit, 'a', { create: true });
  const tools = () => engine.tools(historyUnit, 'a');
  const remember = async (): Promise<void> => {
    const { current } = await tools().bookmarks({ limit: 1 });
    if (!current) throw new Error('there is no present commit');
    const contents = await unit().contents();
    const known = states.get(current.bookmark);
    if (known !== undefined) expect(contents).toBe(known);
    states.set(current.bookmark, contents);
  };
  const goTo = async (bookmark: string): Promise<void> => {
    const reached = await tools().rewind({ bookmark });
    expect(await unit().contents()).toBe(states.get(bookmark));
    undo = reached.undo;
    await remember();
  };

  try {
    await unit().add({ note: 'first' });
    await remember();
    for (const step of plan) {
      if (step.do === 'add') {
        const { rows, bytes, calls } = step;
        await Promise.all(
          Array.from({ length: calls }, (_, i) => unit().add({ note: `n${i}`, rows, bytes })),
        );
      } else if (step.do === 'remove') await unit().remove(step);
      else if (step.do === 'fail') {
        const failing = unit().addAndFail({ rows: 300, bytes: 9_000 });
        const after = unit().add({ note: 'after' });
        await expect(failing).rejects.toMatchObject({ code: 'internal' });
        await after;
      } else if (step.do === 'reopen') {
        await engine.close();
        engine = open();
      } else if (step.do === 'evict')
        await engine.unit(historyUnit, 'b', { create: true }).add({ note: 'other' });
      else if (step.do === 'export') await (await tools().export('sqlite')).body.cancel();
      else if (step.do === 'sweep') await engine.sweepHistory(historyUnit, 'a');
      else if (step.do === 'settle') await new Promise((resolve) => setTimeout(resolve, 5));
      else if (step.do === 'rewind') await goTo([...states.keys()][step.to % states.size] as string);
      else if (undo !== undefined) await goTo(undo);
      await remember();
    }
    const listed = new Set(
      (await tools().bookmarks({ limit: 10_000 })).items.map(({ bookmark }) => bookmark),
    );
    for (const bookmark of [...states.keys()]) {
      expect(listed).toContain(bookmark);
      await goTo(bookmark);
    }
    expect(incidents).toEqual([]);
  } finally {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  }
}
