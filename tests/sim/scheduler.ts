/**
 * Simulated time, and everything that waits: work that could run now, and timers. Nothing runs by itself. The
 * simulation asks for one task at a time, and the seed decides which.
 */
import type { Random } from './random.ts';

/** Whose task it is: what a process left behind when it died never runs. */
export interface Life {
  readonly isDead: boolean;
}

export interface Scheduler {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Puts a task among those that may run now. They run in any order. */
  soon(life: Life, label: string, task: () => void): void;
  /** Puts a task among those that may run from then on. Answers what cancels it. */
  after(life: Life, ms: number, label: string, task: () => void): () => void;
  /** How many tasks may run now. */
  ready(): number;
  /** Runs one of them, and answers its label. */
  runOne(): string;
  /** When the next timer is due; null when none waits. */
  nextTimerMs(): number | null;
  /** Moves the clock. It may be moved back, as an operator or NTP does. */
  advance(ms: number): void;
}

interface Task {
  readonly life: Life;
  readonly atMs: number;
  readonly label: string;
  readonly task: () => void;
}

export function makeScheduler(random: Random, startMs: number): Scheduler {
  let nowMs = startMs;
  let tasks: Task[] = [];

  const alive = (): Task[] => {
    tasks = tasks.filter(({ life }) => !life.isDead);
    return tasks;
  };
  const due = (): Task[] => alive().filter(({ atMs }) => atMs <= nowMs);
  const remove = (task: Task): void => {
    tasks = tasks.filter((each) => each !== task);
  };
  const add = (task: Task): (() => void) => {
    if (!task.life.isDead) tasks.push(task);
    return () => remove(task);
  };

  return {
    now: () => nowMs,
    soon: (life, label, task) => void add({ life, atMs: Number.NEGATIVE_INFINITY, label, task }),
    after: (life, ms, label, task) => add({ life, atMs: nowMs + ms, label, task }),
    ready: () => due().length,
    runOne: () => {
      const next = random.pick(due());
      remove(next);
      next.task();
      return next.label;
    },
    nextTimerMs: () => {
      const times = alive()
        .map(({ atMs }) => atMs)
        .filter(Number.isFinite);
      return times.length === 0 ? null : Math.min(...times);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
