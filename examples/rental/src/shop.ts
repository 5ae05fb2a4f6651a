/** The service of the shop's own work: reminders, and the repair of what came back damaged. */
export const SHOP = 'shop';
