/**
 * Injects faults at chosen points of the platform: the seed arms the fuse, and the code under simulation triggers it
 * when it passes the point.
 */

/** Where a fault can strike. */
export type Point =
  /** Before a method of a unit, inside of its group's transaction. */
  | 'method'
  /** After the method, with its writes made and nothing committed. */
  | 'written'
  /** After a group's commit, before any caller hears of it. */
  | 'committed'
  /** While a staged copy is judged, before it replaces the unit's file. */
  | 'staged';

export type Fault =
  /** The process dies. */
  | 'death'
  /** The power fails in the middle of the commit. Only at `committed`. */
  | 'power'
  /** The disk is full from here to the end of the group, as SQLite reports it. Only at `method`. */
  | 'full'
  /** The transaction breaks here, as on an I/O error. Only at `written`. */
  | 'broken';

export interface Fuse {
  arm(fault: Fault, point: Point, passes: number): void;
  /** Returns the fault that strikes at this point, or null. */
  burn(point: Point): Fault | null;
  /** The armed fault, if it has not struck yet. */
  readonly armed: Fault | null;
  disarm(): void;
}

export function makeFuse(): Fuse {
  let armed: {
    readonly fault: Fault;
    readonly point: Point;
    passes: number;
  } | null = null;
  return {
    arm: (fault, point, passes) => {
      armed = { fault, point, passes };
    },
    burn: (point) => {
      if (armed?.point !== point) return null;
      armed.passes -= 1;
      if (armed.passes > 0) return null;
      const { fault } = armed;
      armed = null;
      return fault;
    },
    get armed() {
      return armed?.fault ?? null;
    },
    disarm: () => {
      armed = null;
    },
  };
}
