/**
 * Faults that strike at a chosen point inside of the platform: the seed arms the fuse, the code under simulation burns
 * it down by passing the point, and then the process dies or the disk fails right there.
 */

/** Where a fault can strike. */
export type Point =
  /** Before a method of a unit, inside of its group's transaction. */
  | 'method'
  /** After it, with its writes made and nothing committed. */
  | 'written'
  /** After a group's commit, before anybody was told. */
  | 'committed'
  /** While a staged copy is judged, before it takes the unit's place. */
  | 'staged';

export type Fault =
  /** The process is gone. */
  | 'death'
  /** The power is gone, in the middle of the commit. Only at `committed`. */
  | 'power'
  /** The disk is full from here to the end of the group: SQLite itself says so. Only at `method`. */
  | 'full'
  /** The transaction breaks here, as on an I/O error. Only at `written`. */
  | 'broken';

export interface Fuse {
  arm(fault: Fault, point: Point, passes: number): void;
  /** What is to strike here and now; null: nothing. */
  burn(point: Point): Fault | null;
  /** What is armed, and not yet burnt down. */
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
