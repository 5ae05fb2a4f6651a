/** The rows of waiting questions, in the unit that an instance has them in. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WaitingQuestions } from '@freehold/operations/mcp';
import { onTestFinished } from 'vitest';
import { identityDirectory } from '../../../auth/src/identity-directory/unit.ts';
import { openTestEngine } from '../../../testkit/src/index.ts';

export interface OpenQuestions {
  readonly clock: { ms: number };
  /** Those of one caller. */
  of(caller: string): WaitingQuestions;
}

/** @param atEnd takes what ends it. Default: the end of the test. */
export function openQuestions(atEnd: (close: () => Promise<void>) => void = onTestFinished): OpenQuestions {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'mcp-questions-'));
  const clock = { ms: Date.UTC(2026, 10, 28) };
  const fail = (error: unknown): never => {
    throw error;
  };
  const engine = openTestEngine({ dataDirectory, now: () => clock.ms, onIncident: fail });
  atEnd(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  });
  const rows = engine.unit(identityDirectory, 'tnt_01j00000000000000000000000', { create: true });
  return { clock, of: (caller) => ({ rows, of: { scopeId: 'scp_01j00000000000000000000000', caller } }) };
}
