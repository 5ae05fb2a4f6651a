/**
 * Tells the operator of faults: each once when it begins, and once when it is over. The state is a file of the data directory,
 * so that a restart repeats nothing; on a disk that takes no writes the state in memory decides.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { FailureSink } from '../feeds/feeds.ts';
import type { JobTotals } from '../jobs/runner.ts';
import { writePrivately } from '../storage/secrets.ts';
import { type AlertChannel, type AlertMessage, sentenceOf } from './channels.ts';
import { type Memory, memorySchema } from './conditions.ts';

/** A fault that lasts. `key` is stable, such as `archive_lagging`; `detail` is a sentence without secrets and people. */
export interface Condition {
  readonly key: string;
  readonly detail: string;
}

/** A fault ends when it was not seen for so long, so that one that comes and goes is one message. */
const SETTLED_MS = 10 * 60_000;

const condition = z.object({ detail: z.string(), sinceMs: z.number(), seenMs: z.number() });
const conditions = z.record(z.string(), condition);
/** `told`: the faults that a channel was told of, and not yet of their end. */
const stored = z.object({
  active: conditions,
  told: z.record(z.string(), conditions),
  memory: memorySchema.nullable(),
});
export type AlertState = z.infer<typeof stored>;

export interface AlertsOptions {
  /** The name of the platform in messages. */
  readonly platform: string;
  readonly dataDirectory: string;
  readonly channels: readonly AlertChannel[];
  /** That of the process before: {@link loadAlertState}. */
  readonly state: AlertState;
  /** The present faults. */
  readonly observe: () => readonly Condition[];
  readonly memory: Memory;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onFailure: FailureSink;
}

export class Alerts {
  readonly #options: AlertsOptions;
  readonly #path: string;
  #state: AlertState;
  #text: string;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#path = pathIn(options.dataDirectory);
    this.#state = options.state;
    this.#text = textOf(this.#state);
  }

  /** Compares the present faults with those that were told, and tells each channel the difference. Never rejects. */
  async run(): Promise<JobTotals> {
    const { channels, observe, now, memory } = this.#options;
    this.#state.memory = memory;
    this.#state.active = next(this.#state.active, observe(), now());
    let done = 0;
    let failed = 0;
    for (const channel of channels) {
      const told = this.#state.told[channel.name] ?? {};
      const message = this.#messageOf(told, this.#state.active);
      if (message === null) continue;
      done += 1;
      if (await this.#send(channel, message)) this.#state.told[channel.name] = { ...this.#state.active };
      else failed += 1;
    }
    this.#save();
    return { done, failed };
  }

  #messageOf(told: AlertState['active'], active: AlertState['active']): AlertMessage | null {
    const { platform, now } = this.#options;
    const began = Object.entries(active).filter(([key]) => !Object.hasOwn(told, key));
    const ended = Object.entries(told).filter(([key]) => !Object.hasOwn(active, key));
    if (began.length === 0 && ended.length === 0) return null;
    const words = [...began.map(([key]) => key), ...ended.map(([key]) => `${key} ended`)];
    const view = ([reason, { detail, sinceMs }]: [string, AlertState['active'][string]]) => ({
      reason,
      detail,
      since: new Date(sinceMs).toISOString(),
    });
    return {
      subject: `[${platform}] ${words.join(', ')}`,
      text: [
        ...began.map(view).map(({ reason, detail, since }) => `${reason}, since ${since}: ${detail}`),
        ...ended.map(view).map(({ reason, since }) => `${reason} is over. It began at ${since}.`),
        'What to do: docs/operator.md, "What to watch".',
      ].join('\n'),
      body: {
        platform,
        kind: 'alert',
        at: new Date(now()).toISOString(),
        began: began.map(view),
        ended: ended.map(view),
      },
    };
  }

  /** A message that was not taken over is sent again by the next run. */
  async #send(channel: AlertChannel, message: AlertMessage): Promise<boolean> {
    try {
      await channel.send(message);
      return true;
    } catch (error) {
      const detail = `An alert was not sent: ${sentenceOf(error)} It is tried again.`;
      this.#options.onFailure({
        operation: 'alerts.send',
        subject: channel.name,
        reason: 'not_sent',
        detail,
      });
      return false;
    }
  }

  #save(): void {
    const text = textOf(this.#state);
    if (text === this.#text) return;
    try {
      writePrivately(this.#path, text);
      this.#text = text;
    } catch {
      // A full disk is itself a fault that was told; the next run writes again.
    }
  }
}

/** The faults after an observation. A time in the future is of a clock that was wrong. */
function next(
  active: AlertState['active'],
  observed: readonly Condition[],
  nowMs: number,
): AlertState['active'] {
  const lasting = Object.entries(active)
    .map(([key, each]) => [key, { ...each, seenMs: Math.min(each.seenMs, nowMs) }] as const)
    .filter(([, { seenMs }]) => nowMs - seenMs < SETTLED_MS);
  const present = observed.map(({ key, detail }) => {
    const before = active[key];
    return [
      key,
      { detail: before?.detail ?? detail, sinceMs: before?.sinceMs ?? nowMs, seenMs: nowMs },
    ] as const;
  });
  return Object.fromEntries([...lasting, ...present]);
}

/** The times of the last observation change each minute, and are not stored for their own sake. */
function textOf(state: AlertState): string {
  return `${JSON.stringify(state, (key, value) => (key === 'seenMs' ? 0 : value))}\n`;
}

/** A file that is missing or damaged is as that of a first start. */
export function loadAlertState(dataDirectory: string): AlertState {
  try {
    return stored.parse(JSON.parse(readFileSync(pathIn(dataDirectory), 'utf8')));
  } catch {
    return { active: {}, told: {}, memory: null };
  }
}

function pathIn(dataDirectory: string): string {
  return join(dataDirectory, 'alerts.json');
}
