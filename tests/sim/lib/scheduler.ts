/**
 * Simulated time and all waiting tasks and timers. Nothing runs by itself: the simulation asks for one task at a time,
 * and the seed decides which.
 */
import type { Random } from './random.ts';

/** The process of a task: tasks of a dead process never run. */
export interface Life {
  readonly isDead: boolean;
}

export interface Scheduler {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Adds a task that may run now. Such tasks run in any order. */
  soon(life: Life, label: string, task: () => void): void;
  /** Adds a task that may run from then on. Returns a function that cancels it. */
  after(life: Life, ms: number, label: string, task: () => void): () => void;
  /** The number of tasks that may run now. */
  ready(): number;
  /** Runs one of them, and returns its label. */
  runOne(): string;
  /** The moment of the next timer; null without one. */
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
