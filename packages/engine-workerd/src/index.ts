/** The engine on workerd: one Durable Object a unit. Start with `unit-object.ts`, then `engine.ts`. */
export { type UnitNamespace, type WorkerdEngineOptions, workerdEngine } from './engine.ts';
export type { PointInTime } from './tools/history.ts';
export {
  makeUnitObject,
  type UnitHistoryOptions,
  type UnitObject,
  type UnitObjectOptions,
  type UnitWork,
  type WorkingObject,
} from './unit-object.ts';
