/** The engine on workerd: one Durable Object a unit. Start with `unit-object.ts`, then `engine.ts`. */
export { type UnitNamespace, type WorkerdEngineOptions, workerdEngine } from './engine.ts';
export { makeUnitObject, type UnitObject, type UnitObjectOptions } from './unit-object.ts';
