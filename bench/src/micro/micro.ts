export async function micro(_args: string[]): Promise<void> {}
