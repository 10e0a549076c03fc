export async function profile(_args: string[]): Promise<void> {}
